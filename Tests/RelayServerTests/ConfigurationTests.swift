import RelayServer
import Testing

@Suite("Configuration of the relay")
struct ConfigurationTests {
    @Test("a file that is no object is one fault")
    func notAnObject() {
        #expect(throws: ServerConfiguration.Invalid.self) { try ServerConfiguration(text: Array("[]".utf8)) }
    }
}

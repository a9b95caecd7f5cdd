import Testing

@testable import segue

@Suite("Simulcast from files")
struct SimulcastTests {
    @Test("a layer that nobody wants stops at once, and begins again with a key frame")
    func gate() {
        var gate = LayerGate()
        func passes(isKey: Bool) -> Bool { gate.passes(isKey: isKey) }
        #expect(passes(isKey: true) && passes(isKey: false))
        gate.setWanted(false)
        #expect(!passes(isKey: false) && !passes(isKey: true))
        gate.setWanted(true)
        #expect(!passes(isKey: false))
        #expect(passes(isKey: true) && passes(isKey: false))
    }
}

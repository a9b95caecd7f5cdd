import Testing

@testable import segue

@Suite("Simulcast from files")
struct SimulcastTests {
    @Test("a layer that nobody wants stops at once, and begins again with a key frame")
    func gate() {
        var gate = LayerGate()
        #expect(gate.passes(isKey: true) && gate.passes(isKey: false))
        gate.setWanted(false)
        #expect(!gate.passes(isKey: false) && !gate.passes(isKey: true))
        gate.setWanted(true)
        #expect(!gate.passes(isKey: false))
        #expect(gate.passes(isKey: true) && gate.passes(isKey: false))
    }
}

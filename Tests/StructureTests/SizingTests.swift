import CapacityModel
import Foundation
import Testing

/// The README's sizing table is what the kept figures give, and nothing else.
@Suite("Sizing table")
struct SizingTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test("the README has the table that Deploy/dev bench capacity --write puts there")
    func readme() throws {
        let figures = try CostFigures(json: [UInt8](Data(contentsOf: Self.root.appending(path: "Benchmarks/Capacity/figures.json"))))
        let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
        #expect(SizingTable.placed(SizingTable.readme(figures), in: readme) == readme)
    }
}

import FoundationEssentials

extension LoadReport {
    /// For a terminal or a document: Markdown tables with aligned columns. Ends with the verdict.
    package func text() -> String {
        var parts = [[scenario.name, scenario.text].filter { !$0.isEmpty }.joined(separator: ": "), circumstances]
        if !scenario.parameters.isEmpty { parts.append(scenario.parameters.map { "\($0.name) \($0.value)" }.joined(separator: ", ")) }
        for table in tables {
            parts.append(table.title + "\n\n" + Numbers.table(table.header, table.rows) + (table.note.isEmpty ? "" : "\n\n" + table.note))
        }
        parts += notes.map { "Note: \($0)" }
        parts.append(verdict)
        return parts.map(Self.printable).joined(separator: "\n\n") + "\n"
    }

    /// Names come from files and from peers: no control characters reach a terminal.
    private static func printable(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0 != "\n" && $0.properties.generalCategory == .control ? "\u{FFFD}" : $0 }))
    }

    /// The whole report, to be joined with others; ends with a line feed.
    package func json() -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // All numbers are finite where they are put in; a report with others has nothing to tell.
        guard let data = try? encoder.encode(self) else { return Array("{}\n".utf8) }
        return [UInt8](data) + [0x0A]
    }

    /// Reads what ``json()`` gave.
    /// - Throws: what is wrong with it; a report of another version is refused.
    package init(json: [UInt8]) throws {
        let report = try JSONDecoder().decode(LoadReport.self, from: Data(json))
        guard report.version == LoadReport.formatVersion else {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(codingPath: [], debugDescription: "a report of version \(report.version), not \(LoadReport.formatVersion)"))
        }
        self = report
    }
}

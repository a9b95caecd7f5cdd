/// Text in a page. What comes from files and peers passes here before it is put anywhere.
enum HTMLText {
    /// Fit for the text of an element and for an attribute in quotes. Control characters become U+FFFD.
    static func escaped(_ text: String) -> String {
        var result = ""
        result.reserveCapacity(text.utf8.count)
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\n", "\t": result.unicodeScalars.append(scalar)
            default: result.unicodeScalars.append(scalar.properties.generalCategory == .control ? "\u{FFFD}" : scalar)
            }
        }
        return result
    }

    /// A table with a caption. The first column names the rows; a cell that says how a limit stands is marked.
    static func table(_ table: ReportTable) -> String {
        var html = "<table>\n<caption>\(escaped(table.title))</caption>\n"
        html += "<thead><tr>" + table.header.map { "<th scope=\"col\">\(escaped($0))</th>" }.joined() + "</tr></thead>\n<tbody>\n"
        for row in table.rows {
            html += "<tr>"
            for (column, cell) in row.enumerated() {
                switch (column, cell) {
                case (0, _): html += "<th scope=\"row\">\(escaped(cell))</th>"
                case (_, "holds"): html += "<td class=\"holds\">✓ holds</td>"
                case (_, "BROKEN"): html += "<td class=\"broken\">✗ broken</td>"
                case (_, _): html += "<td>\(escaped(cell))</td>"
                }
            }
            html += "</tr>\n"
        }
        html += "</tbody>\n</table>\n"
        return table.note.isEmpty ? html : html + "<p class=\"note\">\(escaped(table.note))</p>\n"
    }
}

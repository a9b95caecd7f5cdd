import LoadReport
import Testing

/// Reads a page as a strict reader would: every element that is opened is closed in order, attributes are quoted, nothing is left bare.
private struct MarkupReader {
    private static let empty: Set<String> = ["meta", "!doctype"]
    private(set) var faults: [String] = []
    private(set) var elements: [String] = []
    private(set) var text = ""

    init(_ page: String) {
        var open: [String] = []
        var rest = page[...]
        while let start = rest.firstIndex(of: "<") {
            take(text: rest[..<start], in: open.last)
            guard let end = rest[start...].firstIndex(of: ">") else {
                faults.append("a tag without its end")
                return
            }
            var tag = rest[rest.index(after: start)..<end]
            rest = rest[rest.index(after: end)...]
            if tag.hasPrefix("/") {
                if open.popLast() != String(tag.dropFirst()) { faults.append("</\(tag.dropFirst())> out of order") }
                continue
            }
            let closesItself = tag.hasSuffix("/")
            if closesItself { tag = tag.dropLast() }
            let name = tag.prefix { !$0.isWhitespace }.lowercased()
            elements.append(name)
            if !tag.split(separator: "\"", omittingEmptySubsequences: false).count.isMultiple(of: 2) == false { faults.append("quotes in <\(tag)>") }
            if !closesItself, !Self.empty.contains(name) { open.append(name) }
        }
        if !open.isEmpty { faults.append("left open: \(open)") }
    }

    private mutating func take(text bare: Substring, in element: String?) {
        if element != "style" { text += bare }
        if bare.contains(">") { faults.append("a bare > in the text") }
        for piece in bare.split(separator: "&", omittingEmptySubsequences: false).dropFirst() where piece.prefix(6).firstIndex(of: ";") == nil {
            faults.append("a bare & before \(piece.prefix(10))")
        }
    }
}

@Suite("Reports as pages")
struct PageTests {
    private static let hostile = "</title><script>alert(\"x\")</script>&'\u{7}"

    private static func hostileReport() -> LoadReport {
        var report = sampleReport(name: hostile)
        report.scenario.text = hostile
        report.scenario.parameters = [LoadReport.Parameter(hostile, hostile)]
        report.machine = hostile
        report.notes = [hostile]
        report.clients.failedByReason = [hostile: 1]
        report.frames.droppedByReason = [hostile: 1]
        report.latencyByKind[hostile] = report.jitter
        report.relay?.further = [LoadReport.Parameter(hostile, hostile)]
        report.limits.append(LimitOutcome(name: hostile, measured: nil, bound: 1, isLowest: false, holds: false))
        return report
    }

    private static func longReport() -> LoadReport {
        var report = sampleReport()
        let second = report.timeline[3]
        report.timeline = (0..<5_000).map { place in
            var one = second
            one.unixSecond += Int64(place) + (place > 2_000 ? 400 : 0)
            return one
        }
        return report
    }

    private static func emptyReport() -> LoadReport { LoadReport(scenario: LoadReport.Scenario(name: "", text: "")) }

    @Test("the page is well-formed, whatever names are in it", arguments: [sampleReport(), hostileReport(), longReport(), emptyReport()])
    func wellFormed(report: LoadReport) {
        let reader = MarkupReader(report.html())
        #expect(reader.faults.isEmpty, "\(reader.faults)")
        #expect(reader.elements.contains("main"))
        #expect(!reader.elements.contains("script"))
    }

    @Test("text from elsewhere is escaped everywhere")
    func escaped() {
        let page = Self.hostileReport().html()
        #expect(!page.contains("<script"))
        #expect(!page.contains("\u{7}"))
        // In the title, the heading, the text, parameters, circumstances, notes, tables and plots.
        #expect(page.components("&lt;script&gt;") >= 13)
    }

    @Test("the page brings everything with it")
    func selfContained() {
        let page = sampleReport().html()
        for outside in ["http:", "https:", "src=", "href=", "@import", "url("] { #expect(!page.contains(outside), "\(outside)") }
        #expect(page.contains("prefers-color-scheme: dark"))
    }

    @Test("there are plots of quantiles, frames, latency, clients, processor and memory, and no number that is none")
    func plots() {
        let page = sampleReport().html()
        #expect(MarkupReader(page).elements.count { $0 == "svg" } == 6)
        for wrong in ["nan", "inf ", "inf\""] { #expect(!page.contains(wrong), "\(wrong)") }
        #expect(MarkupReader(Self.emptyReport().html()).elements.contains("svg") == false)
        // Each line of a plot has dashes of its own and its name at its end.
        for name in ["p50", "p99", "max", "delivered", "sent"] { #expect(page.contains("class=\"name\"") && page.contains(">\(name)</text>")) }
    }

    @Test("a run of hours makes no larger page than one of ten minutes")
    func condensed() {
        #expect(Self.longReport().html().utf8.count < 120_000)
    }
}

extension String {
    fileprivate func components(_ separator: String) -> Int { ranges(of: separator).count }
}

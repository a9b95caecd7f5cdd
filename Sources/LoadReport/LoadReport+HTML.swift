extension LoadReport {
    /// One page that needs nothing else: no scripts, fonts or pictures from elsewhere. Readable in light and dark and without colour.
    package func html() -> String {
        let title = HTMLText.escaped(scenario.name.isEmpty ? "Load report" : "Load report: \(scenario.name)")
        var page = """
            <!DOCTYPE html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <meta name="color-scheme" content="light dark">
            <title>\(title)</title>
            <style>
            \(Self.style)
            </style>
            </head>
            <body>
            <main>
            <h1>\(title)</h1>
            <p>\(HTMLText.escaped(scenario.text))</p>
            <p class="note">\(HTMLText.escaped(circumstances))</p>
            <p class="verdict \(limits.isEmpty ? "" : allLimitsHold ? "holds" : "broken")">\(HTMLText.escaped(mark + verdict))</p>

            """
        page += notes.map { "<p class=\"warning\">Note: \(HTMLText.escaped($0))</p>\n" }.joined()
        if !scenario.parameters.isEmpty {
            let rows = scenario.parameters.map { [$0.name, $0.value] }
            page += HTMLText.table(ReportTable(title: "Parameters", header: ["", "value"], rows: rows))
        }
        page += tables.map(HTMLText.table).joined()
        page += plots.map { $0.figure() }.joined()
        return page + "</main>\n</body>\n</html>\n"
    }

    private var mark: String { limits.isEmpty ? "" : allLimitsHold ? "✓ " : "✗ " }

    /// Lines have as many styles as ``Plot`` counts.
    private static let style = """
        :root { --paper: #fff; --ink: #1c1f23; --soft: #5b626b; --rule: #d8dce1; --good: #176b34; --bad: #b3261e;
          --s0: #1b5e9b; --s1: #b4450f; --s2: #2d7a3a; --s3: #7a3b8f; --s4: #5c5c5c; }
        @media (prefers-color-scheme: dark) {
          :root { --paper: #15181c; --ink: #e6e9ec; --soft: #a2aab4; --rule: #343a42; --good: #6fd08c; --bad: #ff8a80;
            --s0: #7ab8f5; --s1: #f5a673; --s2: #86d494; --s3: #d3a1e6; --s4: #b9b9b9; }
        }
        body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; margin: 0; }
        main { max-width: 60rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
        h1 { font-size: 1.6rem; line-height: 1.2; margin: 0 0 0.5rem; }
        p { max-width: 46rem; margin: 0.5rem 0; }
        .note { color: var(--soft); font-size: 0.9rem; }
        .verdict { font-weight: 600; border-left: 4px solid var(--rule); padding-left: 0.75rem; }
        .warning { border-left: 4px solid var(--bad); padding-left: 0.75rem; }
        .verdict.holds, .verdict.broken { border-color: currentColor; }
        .holds { color: var(--good); }
        .broken { color: var(--bad); font-weight: 700; }
        table { border-collapse: collapse; margin: 1.75rem 0 0.5rem; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
        caption, figcaption { text-align: left; font-weight: 600; font-size: 1.1rem; margin-bottom: 0.25rem; }
        th, td { padding: 0.25rem 0.9rem 0.25rem 0; text-align: right; border-bottom: 1px solid var(--rule); font-weight: 400; white-space: nowrap; }
        th[scope=row], th:first-child { text-align: left; }
        thead th { color: var(--soft); font-size: 0.85rem; }
        figure { margin: 2rem 0 0; }
        svg { width: 100%; height: auto; display: block; }
        .grid { stroke: var(--rule); stroke-width: 1; }
        .axis { stroke: var(--soft); stroke-width: 1; fill: none; }
        .tick, .name { fill: var(--soft); font: 12px system-ui, sans-serif; }
        .name { fill: var(--ink); }
        .line { fill: none; stroke-width: 1.8; stroke-linejoin: round; stroke-linecap: round; }
        .s0 { stroke: var(--s0); }
        .s1 { stroke: var(--s1); stroke-dasharray: 7 4; }
        .s2 { stroke: var(--s2); stroke-dasharray: 1.5 4; }
        .s3 { stroke: var(--s3); stroke-dasharray: 10 3 2 3; }
        .s4 { stroke: var(--s4); stroke-dasharray: 3 3; }
        @media print { :root { --paper: #fff; --ink: #000; --soft: #444; --rule: #bbb; } }
        """
}

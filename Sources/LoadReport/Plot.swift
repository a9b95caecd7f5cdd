/// Lines over two axes, as SVG in a page. Lines differ by their dashes and by the name at their end, not by colour alone.
struct Plot {
    struct Series {
        let name: String
        /// In order of x. Where there is no y, the line is broken.
        let points: [(x: Double, y: Double?)]

        var values: [Double] { points.compactMap(\.y) }
    }

    private static let width = 860.0
    private static let height = 300.0
    private static let left = 68.0
    private static let right = 156.0
    private static let top = 16.0
    private static let bottom = 44.0
    /// As many as there are classes and dashes in the page's style.
    private static let styles = 5

    let title: String
    let x: PlotAxis
    let y: PlotAxis
    let series: [Series]

    func figure() -> String {
        var svg = "<figure>\n<figcaption>\(HTMLText.escaped(title))</figcaption>\n"
        svg += "<svg viewBox=\"0 0 \(Self.whole(Self.width)) \(Self.whole(Self.height))\" role=\"img\" aria-label=\"\(HTMLText.escaped(title))\">\n"
        svg += grid()
        for (place, one) in series.enumerated() {
            svg += "<path class=\"line s\(place % Self.styles)\" d=\"\(path(one))\"/>\n"
        }
        svg += names()
        return svg + "</svg>\n</figure>\n"
    }

    private func grid() -> String {
        var svg = ""
        let end = Self.width - Self.right
        let ground = Self.height - Self.bottom
        for tick in y.ticks {
            let at = Self.text(vertical(tick.value))
            svg += "<path class=\"grid\" d=\"M\(Self.whole(Self.left)) \(at)H\(Self.whole(end))\"/>"
            svg +=
                "<text class=\"tick\" x=\"\(Self.whole(Self.left - 6))\" y=\"\(at)\" dy=\"4\" text-anchor=\"end\">\(HTMLText.escaped(tick.text))</text>\n"
        }
        for tick in x.ticks {
            let at = Self.text(horizontal(tick.value))
            svg += "<path class=\"grid\" d=\"M\(at) \(Self.whole(Self.top))V\(Self.whole(ground))\"/>"
            svg += "<text class=\"tick\" x=\"\(at)\" y=\"\(Self.whole(ground + 16))\" text-anchor=\"middle\">\(HTMLText.escaped(tick.text))</text>\n"
        }
        svg += "<path class=\"axis\" d=\"M\(Self.whole(Self.left)) \(Self.whole(Self.top))V\(Self.whole(ground))H\(Self.whole(end))\"/>\n"
        let middle = Self.whole((Self.left + end) / 2)
        svg +=
            "<text class=\"tick\" x=\"\(middle)\" y=\"\(Self.whole(Self.height - 8))\" text-anchor=\"middle\">\(HTMLText.escaped(x.label))</text>\n"
        let turned = "rotate(-90 14 \(Self.whole((Self.top + ground) / 2)))"
        svg += "<text class=\"tick\" x=\"14\" y=\"\(Self.whole((Self.top + ground) / 2))\" text-anchor=\"middle\" transform=\"\(turned)\">"
        return svg + "\(HTMLText.escaped(y.label))</text>\n"
    }

    private func path(_ series: Series) -> String {
        var text = ""
        var isDrawing = false
        var isAlone = false
        for point in series.points {
            guard let value = point.y else {
                // A point between two gaps is a dot.
                if isAlone { text += "h0.01" }
                isDrawing = false
                isAlone = false
                continue
            }
            text += (isDrawing ? "L" : "M") + Self.text(horizontal(point.x)) + " " + Self.text(vertical(value))
            isAlone = !isDrawing
            isDrawing = true
        }
        return isAlone ? text + "h0.01" : text
    }

    /// At the end of each line its name; those that would cover each other are moved apart.
    private func names() -> String {
        let step = 15.0
        var places = series.enumerated().compactMap { place, one in
            one.points.last { $0.y != nil }.flatMap { last in last.y.map { (place: place, at: vertical($0)) } }
        }.sorted { $0.at < $1.at }
        for number in places.indices.dropFirst() { places[number].at = max(places[number].at, places[number - 1].at + step) }
        if let last = places.last {
            let beyond = max(0, last.at - (Self.height - Self.bottom))
            for number in places.indices { places[number].at -= beyond }
        }
        let from = Self.width - Self.right + 4
        return places.map { place, at in
            let style = "s\(place % Self.styles)"
            return "<path class=\"line \(style)\" d=\"M\(Self.whole(from)) \(Self.text(at))h26\"/>"
                + "<text class=\"name\" x=\"\(Self.whole(from + 32))\" y=\"\(Self.text(at))\" dy=\"4\">\(HTMLText.escaped(series[place].name))</text>\n"
        }.joined()
    }

    private func horizontal(_ value: Double) -> Double { Self.left + x.place(value) * (Self.width - Self.left - Self.right) }

    private func vertical(_ value: Double) -> Double {
        let ground = Self.height - Self.bottom
        return ground - y.place(value) * (ground - Self.top)
    }

    private static func whole(_ value: Double) -> String { text(value.rounded()) }

    /// Without the thousands' comma, which means something else in SVG.
    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
    }
}

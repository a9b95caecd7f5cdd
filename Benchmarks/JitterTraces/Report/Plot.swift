/// Plots as SVG, by hand.
struct Plot {
    private static let width = 960.0
    private static let height = 320.0
    private static let left = 56.0
    private static let bottom = 36.0
    private static let top = 28.0
    private static let colours = ["#d1495b", "#8d6a9f", "#3c7a89", "#2e933c"]

    /// How late packets came, and how long each player held what it played, over the time of a trace.
    static func overTime(_ comparison: Comparison) -> String {
        let trace = comparison.trace
        let media = trace.mediaTimes()
        let arrivals = zip(trace.packets, media).compactMap { packet, time in packet.received.map { (time: $0, late: Double($0 - time) / 1e6) } }
        let fastest = arrivals.map(\.late).min() ?? 0
        let end = Double(max(1, trace.end)) / 1e9
        let lates = arrivals.map { $0.late - fastest }.sorted()
        // What a stall of seconds would squeeze is cut off.
        let high = max(60, min(600, (lates.isEmpty ? 0 : lates[lates.count * 99 / 100]) * 1.3 + 40))
        var svg = frame(title: "\(trace.name): \(trace.note)", x: "seconds", y: "ms", xMax: end, yMax: high)
        func point(_ seconds: Double, _ milliseconds: Double) -> String {
            let x = left + seconds / end * (width - left - 8)
            let y = height - bottom - min(milliseconds, high) / high * (height - bottom - top)
            return "\(Decimals.fixed(x, 1)),\(Decimals.fixed(y, 1))"
        }
        let dots = stride(from: 0, to: arrivals.count, by: max(1, arrivals.count / 3_000)).map { place in
            "M" + point(Double(arrivals[place].time) / 1e9, arrivals[place].late - fastest) + "h1.2"
        }
        svg += "<path d=\"\(dots.joined())\" stroke=\"#999\" stroke-width=\"1.4\" fill=\"none\"/>\n"
        for (player, colour) in zip(comparison.players, colours) {
            svg += "<polyline fill=\"none\" stroke=\"\(colour)\" stroke-width=\"1\" points=\""
            svg += averaged(player, buckets: 400).map { point($0.seconds, $0.delay) }.joined(separator: " ")
            svg += "\"/>\n"
        }
        return svg + legend(["arrival behind the fastest"] + comparison.players.map(\.player), ["#999"] + colours) + "</svg>\n"
    }

    /// Mean delay of each player, by trace.
    static func summary(_ comparisons: [Comparison]) -> String {
        let high = max(60, comparisons.flatMap { $0.players.map(\.meanDelay) }.max() ?? 0) * 1.05
        var svg = frame(title: "mean buffering delay", x: "", y: "ms", xMax: 0, yMax: high)
        let slot = (width - left - 8) / Double(max(1, comparisons.count))
        for (number, comparison) in comparisons.enumerated() {
            let x = left + Double(number) * slot
            for (place, player) in comparison.players.enumerated() {
                let size = player.meanDelay / high * (height - bottom - top)
                svg += "<rect x=\"\(Decimals.fixed(x + (0.1 + 0.2 * Double(place)) * slot, 1))\" y=\"\(Decimals.fixed(height - bottom - size, 1))\" "
                svg += "width=\"\(Decimals.fixed(slot * 0.19, 1))\" height=\"\(Decimals.fixed(size, 1))\" fill=\"\(colours[place])\"/>\n"
            }
            let middle = "\(Decimals.fixed(x + slot / 2, 1)) \(Decimals.fixed(height - bottom + 8, 1))"
            svg += "<text transform=\"translate(\(middle)) rotate(20)\" font-size=\"7\">\(escaped(comparison.trace.name))</text>\n"
        }
        return svg + legend(comparisons.first?.players.map(\.player) ?? [], colours) + "</svg>\n"
    }

    // MARK: Pieces

    private static func averaged(_ player: Playout, buckets: Int) -> [(seconds: Double, delay: Double)] {
        let points = player.points.sorted { $0.time < $1.time }
        let size = max(1, points.count / buckets)
        return stride(from: 0, to: points.count, by: size).compactMap { begin in
            let part = points[begin..<min(begin + size, points.count)]
            let delays = part.compactMap(\.delayMilliseconds)
            guard !delays.isEmpty else { return nil }
            return (Double(part[begin].time) / 1e9, delays.reduce(0, +) / Double(delays.count))
        }
    }

    private static func frame(title: String, x: String, y: String, xMax: Double, yMax: Double) -> String {
        var svg =
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Int(width)) \(Int(height))\" font-family=\"sans-serif\" font-size=\"10\">\n"
        svg += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"\(Int(left))\" y=\"14\" font-size=\"12\">\(escaped(title))</text>\n"
        for step in 0...4 {
            let share = Double(step) / 4
            let place = Decimals.fixed(height - bottom - share * (height - bottom - top), 1)
            svg += "<path d=\"M\(left),\(place)H\(width - 8)\" stroke=\"#ddd\"/>\n"
            svg += "<text x=\"\(Int(left) - 6)\" y=\"\(place)\" text-anchor=\"end\">\(Decimals.fixed(yMax * share, 0)) \(y)</text>\n"
            guard xMax > 0 else { continue }
            let across = Decimals.fixed(left + share * (width - left - 8), 1)
            svg += "<text x=\"\(across)\" y=\"\(Int(height - bottom) + 14)\" text-anchor=\"middle\">\(Decimals.fixed(xMax * share, 0))</text>\n"
        }
        return svg
    }

    private static func legend(_ names: [String], _ colours: [String]) -> String {
        var svg = ""
        for (number, (name, colour)) in zip(names, colours).enumerated() {
            let x = Int(left) + 150 * number
            svg += "<rect x=\"\(x)\" y=\"\(Int(height) - 12)\" width=\"10\" height=\"8\" fill=\"\(colour)\"/>"
            svg += "<text x=\"\(x + 14)\" y=\"\(Int(height) - 4)\">\(escaped(name))</text>\n"
        }
        return svg
    }

    private static func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "<": result += "&lt;"
            case "&": result += "&amp;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
    }
}

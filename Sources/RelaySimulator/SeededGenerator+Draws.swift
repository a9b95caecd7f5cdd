import RelayBase

/// Draws that are the same on every machine: the standard library does not promise that of its own from one version to the next.
extension SeededGenerator {
    /// A generator of its own for one component, so that what one draws does not shift what another gets.
    func split(_ component: UInt64) -> SeededGenerator {
        var mixed = self
        var generator = SeededGenerator(seed: mixed.next() ^ component &* 0xD6E8_FEB8_6659_FD93)
        return SeededGenerator(seed: generator.next())
    }

    /// Evenly from the range. The bias of the remainder is beneath notice at these sizes.
    mutating func draw(_ range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(next() % UInt64(range.upperBound - range.lowerBound + 1))
    }

    mutating func draw(_ range: ClosedRange<UInt64>) -> UInt64 {
        range.lowerBound + next() % (range.upperBound - range.lowerBound + 1)
    }

    /// True with a probability of `perMille` in a thousand.
    mutating func chance(_ perMille: Int) -> Bool { draw(0...999) < perMille }

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[draw(0...(elements.count - 1))] }
}

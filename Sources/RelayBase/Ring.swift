/// A bounded first-in-first-out queue over one array: appending to a full ring is refused, never grows.
package struct Ring<Element> {
    @usableFromInline var places: [Element?]
    @usableFromInline var head = 0
    package private(set) var count = 0

    package init(capacity: Int) {
        precondition(capacity > 0, "a ring needs room for one element")
        places = Array(repeating: nil, count: capacity)
    }

    package var isEmpty: Bool { count == 0 }
    package var isFull: Bool { count == places.count }
    package var capacity: Int { places.count }

    /// Appends; answers false, and changes nothing, when the ring is full.
    package mutating func append(_ element: Element) -> Bool {
        guard !isFull else { return false }
        places[(head + count) % places.count] = element
        count += 1
        return true
    }

    package mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = places[head].take()
        head = (head + 1) % places.count
        count -= 1
        return element
    }

    package var first: Element? { count > 0 ? places[head] : nil }
}

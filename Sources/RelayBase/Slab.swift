/// Names one element of a ``Slab``. A handle outlives its element harmlessly: the generation no longer matches.
package struct Handle: Hashable, Sendable {
    package let index: UInt32
    package let generation: UInt32

    @inlinable
    package init(index: UInt32, generation: UInt32) {
        self.index = index
        self.generation = generation
    }

    /// Both halves in one word, for epoll's user data and for the wire between loops.
    @inlinable
    package var packed: UInt64 { UInt64(generation) << 32 | UInt64(index) }

    @inlinable
    package init(packed: UInt64) {
        self.init(index: UInt32(truncatingIfNeeded: packed), generation: UInt32(truncatingIfNeeded: packed >> 32))
    }
}

/// A dense table whose elements are named by generation-checked handles: look-up is an index and a comparison.
///
/// Freed places are used again, last freed first, so that a busy table stays small and warm in the cache.
package struct Slab<Element> {
    @usableFromInline
    struct Place {
        @usableFromInline var generation: UInt32
        @usableFromInline var element: Element?

        @usableFromInline
        init(generation: UInt32, element: Element?) {
            self.generation = generation
            self.element = element
        }
    }

    @usableFromInline var places: [Place] = []
    @usableFromInline var free: [UInt32] = []
    package let capacityMax: Int

    /// - Parameter capacityMax: the bound on live elements; ``insert(_:)`` answers `nil` beyond it.
    package init(capacityMax: Int = Int(UInt32.max)) {
        self.capacityMax = min(capacityMax, Int(UInt32.max))
    }

    @inlinable
    package var count: Int { places.count - free.count }

    /// Stores `element`; `nil` when the table holds `capacityMax` elements already.
    @inlinable
    package mutating func insert(_ element: Element) -> Handle? {
        if let index = free.popLast() {
            places[Int(index)].element = element
            return Handle(index: index, generation: places[Int(index)].generation)
        }
        guard places.count < capacityMax else { return nil }
        places.append(Place(generation: 1, element: element))
        return Handle(index: UInt32(places.count - 1), generation: 1)
    }

    @inlinable
    package func contains(_ handle: Handle) -> Bool {
        let index = Int(handle.index)
        return index < places.count && places[index].generation == handle.generation && places[index].element != nil
    }

    /// Takes the element out; `nil` when the handle is stale.
    @inlinable
    package mutating func remove(_ handle: Handle) -> Element? {
        guard contains(handle) else { return nil }
        let index = Int(handle.index)
        let element = places[index].element.take()
        places[index].generation &+= 1
        free.append(handle.index)
        return element
    }

    /// The element, or `nil` when the handle is stale. Writing through a stale handle does nothing.
    @inlinable
    package subscript(handle: Handle) -> Element? {
        get { contains(handle) ? places[Int(handle.index)].element : nil }
        _modify {
            var nothing: Element?
            if contains(handle) {
                yield &places[Int(handle.index)].element
            } else {
                yield &nothing
            }
        }
    }

    /// The handles of all live elements, lowest index first.
    package var handles: [Handle] {
        var result: [Handle] = []
        result.reserveCapacity(count)
        for (index, place) in places.enumerated() where place.element != nil {
            result.append(Handle(index: UInt32(index), generation: place.generation))
        }
        return result
    }
}

/// A dense table of elements that cannot be copied, named by generation-checked handles.
///
/// Like ``Slab``, for `~Copyable` elements: what owns raw memory lives here and is worked on in place, with no reference counting.
@safe
package struct UniqueTable<Element: ~Copyable>: ~Copyable {
    @usableFromInline var elements: UnsafeMutablePointer<Element>
    @usableFromInline var generations: [UInt32] = []
    @usableFromInline var live: [Bool] = []
    private var free: [UInt32] = []
    private var capacity = 0
    package let capacityMax: Int

    /// - Parameter capacityMax: the bound on live elements; ``insert(_:)`` answers `nil` beyond it.
    package init(capacityMax: Int) {
        self.capacityMax = min(capacityMax, Int(UInt32.max))
        unsafe elements = UnsafeMutablePointer<Element>.allocate(capacity: 0)
    }

    deinit {
        for index in live.indices where live[index] {
            unsafe (elements + index).deinitialize(count: 1)
        }
        unsafe elements.deallocate()
    }

    package var count: Int { live.count - free.count }

    /// One past the highest place in use: `0 ..< endIndex` with ``isLive(_:)`` visits everything.
    @inlinable package var endIndex: Int { live.count }

    @inlinable
    package func isLive(_ index: Int) -> Bool {
        index >= 0 && index < live.count && live[index]
    }

    @inlinable
    package func contains(_ handle: Handle) -> Bool {
        let index = Int(handle.index)
        return isLive(index) && generations[index] == handle.generation
    }

    package func handle(at index: Int) -> Handle {
        Handle(index: UInt32(index), generation: generations[index])
    }

    /// Stores `element`; `nil` when the table is full (the element is destroyed).
    package mutating func insert(_ element: consuming Element) -> Handle? {
        if let index = free.popLast() {
            unsafe (elements + Int(index)).initialize(to: element)
            live[Int(index)] = true
            return Handle(index: index, generation: generations[Int(index)])
        }
        guard live.count < capacityMax else { return nil }
        if live.count == capacity { grow() }
        let index = live.count
        unsafe (elements + index).initialize(to: element)
        generations.append(1)
        live.append(true)
        return Handle(index: UInt32(index), generation: 1)
    }

    /// Destroys the element; answers false when the handle is stale.
    @discardableResult
    package mutating func remove(_ handle: Handle) -> Bool {
        guard contains(handle) else { return false }
        let index = Int(handle.index)
        live[index] = false
        generations[index] &+= 1
        free.append(handle.index)
        unsafe (elements + index).deinitialize(count: 1)
        return true
    }

    /// The element at a place that is in use. Asking for a free place is our own bug.
    @inlinable
    package subscript(index: Int) -> Element {
        // Addressors: a coroutine would cost an allocation for its frame and a copy at every access.
        unsafeAddress {
            precondition(isLive(index), "a free place of the table was read")
            return unsafe UnsafePointer(elements + index)
        }
        unsafeMutableAddress {
            precondition(isLive(index), "a free place of the table was written")
            return unsafe elements + index
        }
    }

    private mutating func grow() {
        let grown = max(4, capacity * 2)
        let moved = UnsafeMutablePointer<Element>.allocate(capacity: grown)
        // Places are moved one by one: a free place holds no element.
        for index in live.indices where live[index] {
            unsafe (moved + index).moveInitialize(from: elements + index, count: 1)
        }
        unsafe elements.deallocate()
        unsafe elements = moved
        capacity = grown
    }
}

/// One element for each lane, worked on in place.
///
/// Elements lie out of line behind addressors: a coroutine accessor that chooses between stored properties costs an allocation for its frame and a copy
/// of the whole containing struct at every access.
@safe
struct LaneTable<Element: ~Copyable>: ~Copyable {
    private let elements: UnsafeMutablePointer<Element>

    init(_ make: (Lane) -> Element) {
        unsafe elements = .allocate(capacity: Lane.allCases.count)
        for lane in Lane.allCases { unsafe (elements + lane.rawValue).initialize(to: make(lane)) }
    }

    deinit {
        unsafe elements.deinitialize(count: Lane.allCases.count)
        unsafe elements.deallocate()
    }

    /// Where a lane's element lies, as long as the table does.
    func address(of lane: Lane) -> UnsafeMutablePointer<Element> {
        unsafe elements + lane.rawValue
    }

    subscript(lane: Lane) -> Element {
        unsafeAddress { unsafe UnsafePointer(elements + lane.rawValue) }
        unsafeMutableAddress { unsafe elements + lane.rawValue }
    }
}

/// Bytes that all rooms of one loop may hold together for late joiners and for messages that were begun: shared, so that one room cannot take what no other room has.
///
/// Not thread-safe: it belongs to one loop.
package final class ByteBudget {
    package let bytesMax: Int
    package private(set) var used = 0

    package init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    var left: Int { max(0, bytesMax - used) }

    /// Takes `count` bytes; answers false, and takes nothing, when they are not there.
    package func take(_ count: Int) -> Bool {
        guard count <= bytesMax - used else { return false }
        used += count
        return true
    }

    /// Takes a few bytes whether they are there or not: for what is bounded otherwise and must go on.
    func takeAnyway(_ count: Int) {
        used += count
    }

    package func give(_ count: Int) {
        precondition(count <= used, "only what was taken is given back")
        used -= count
    }
}

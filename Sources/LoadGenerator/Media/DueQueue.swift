/// Things to be done, soonest first: a binary heap.
struct DueQueue<Task> {
    private struct Entry {
        var due: UInt64
        /// Of those that are due at the same time, the earlier goes first.
        var order: UInt64
        var task: Task
    }

    private var entries: [Entry] = []
    private var order: UInt64 = 0

    var nextDue: UInt64? { entries.first?.due }

    mutating func add(_ task: Task, due: UInt64) {
        order &+= 1
        entries.append(Entry(due: due, order: order, task: task))
        var place = entries.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard precedes(place, parent) else { break }
            entries.swapAt(place, parent)
            place = parent
        }
    }

    /// The soonest that is due by `now`.
    mutating func take(by now: UInt64) -> (due: UInt64, task: Task)? {
        guard let first = entries.first, first.due <= now, let last = entries.popLast() else { return nil }
        if !entries.isEmpty {
            entries[0] = last
            sink()
        }
        return (first.due, first.task)
    }

    private mutating func sink() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < entries.count && precedes(child, least) { least = child }
            guard least != place else { return }
            entries.swapAt(place, least)
            place = least
        }
    }

    private func precedes(_ left: Int, _ right: Int) -> Bool {
        (entries[left].due, entries[left].order) < (entries[right].due, entries[right].order)
    }
}

/// Changes of what plays together (a subscription, a layer, an input of a mixer) that are to be heard at the same moment or not at all.
///
/// They are staged as they come and taken over at the next frame boundary, all at once. Bounded: a stage that is full refuses, and stays as it is.
package struct StagedEdits<Edit: Sendable>: Sendable {
    package let editsMax: Int
    private var staged: [Edit] = []

    package init(editsMax: Int) {
        precondition(editsMax > 0, "room for an edit")
        self.editsMax = editsMax
    }

    package var isEmpty: Bool { staged.isEmpty }
    package var count: Int { staged.count }

    /// Stages several that belong together. Answers false, and stages none, when not all have room.
    package mutating func stage(_ edits: some Collection<Edit>) -> Bool {
        guard edits.count <= editsMax - staged.count else { return false }
        staged.append(contentsOf: edits)
        return true
    }

    /// Forgets what is staged.
    package mutating func discard() { staged.removeAll(keepingCapacity: true) }

    /// Takes over everything that is staged, in order, at a frame boundary; or nothing, and the fault of the first that cannot be. The stage is empty then.
    package mutating func commit<Graph, Fault: Error>(
        to graph: inout Graph, _ apply: (Edit, inout Graph) throws(Fault) -> Void
    ) throws(Fault) {
        guard !staged.isEmpty else { return }
        defer { discard() }
        var next = graph
        for edit in staged { try apply(edit, &next) }
        graph = next
    }
}

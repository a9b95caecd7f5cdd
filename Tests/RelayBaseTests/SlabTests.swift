import RelayBase
import Testing

extension Slab {
    /// Inserts where there must be room. (The macros cannot change what they look at.)
    fileprivate mutating func place(_ element: Element) throws -> Handle {
        let handle = insert(element)
        return try #require(handle)
    }
}

@Suite("Slab and Handle")
struct SlabTests {
    @Test(
        "a handle survives packing into one word",
        arguments: [Handle(index: 0, generation: 1), Handle(index: .max, generation: 7), Handle(index: 3, generation: .max)])
    func packing(handle: Handle) {
        #expect(Handle(packed: handle.packed) == handle)
    }

    @Test("a stale handle reads nothing, writes nothing and removes nothing, even when its place is in use again")
    func staleHandle() throws {
        var slab = Slab<String>()
        let first = try slab.place("first")
        #expect(slab.remove(first) == "first")
        let second = try slab.place("second")
        #expect(second.index == first.index)
        #expect(second.generation != first.generation)
        #expect(!slab.contains(first))
        #expect(slab[first] == nil)
        slab[first] = "written through a stale handle"
        #expect(slab.remove(first) == nil)
        #expect(slab[second] == "second")
        #expect(slab.count == 1)
    }

    @Test(
        "handles of places that never were are stale",
        arguments: [Handle(index: 0, generation: 1), Handle(index: .max, generation: .max), Handle(packed: 0)])
    func foreignHandle(handle: Handle) {
        var slab = Slab<Int>()
        #expect(!slab.contains(handle))
        #expect(slab.remove(handle) == nil)
        slab[handle] = 1
        #expect(slab[handle] == nil)
        #expect(slab.count == 0)
    }

    @Test("a full table refuses, and takes one for each that goes")
    func capacity() throws {
        var slab = Slab<Int>(capacityMax: 3)
        let handles = [slab.insert(0), slab.insert(1), slab.insert(2)].compactMap { $0 }
        #expect(handles.count == 3)
        #expect(slab.insert(3) == nil)
        #expect(slab.count == 3)
        #expect(slab.remove(handles[1]) == 1)
        let again = try slab.place(4)
        #expect(again.index == handles[1].index)
        #expect(slab.insert(5) == nil)
    }

    @Test("the place that was freed last is used first")
    func reuse() {
        var slab = Slab<Int>()
        let handles = (0..<4).compactMap { slab.insert($0) }
        for handle in [handles[0], handles[2], handles[1]] { _ = slab.remove(handle) }
        #expect((0..<3).compactMap { slab.insert($0)?.index } == [1, 2, 0])
        #expect(slab.insert(9)?.index == 4)
    }

    @Test("elements are changed in place")
    func changeInPlace() throws {
        var slab = Slab<[Int]>()
        let handle = try slab.place([1])
        slab[handle]?.append(2)
        #expect(slab[handle] == [1, 2])
    }

    @Test("any run of insertions, changes and removals agrees with a dictionary", arguments: [UInt64(1), 2, 3, 4])
    func agreesWithDictionary(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var slab = Slab<Int>(capacityMax: 40)
        var model: [Handle: Int] = [:]
        var retired: [Handle] = []
        for step in 0..<4_000 {
            switch Int.random(in: 0..<5, using: &generator) {
            case 0, 1:
                let handle = slab.insert(step)
                #expect((handle == nil) == (model.count == 40))
                if let handle {
                    #expect(model.updateValue(step, forKey: handle) == nil, "a live handle was given out twice")
                }
            case 2, 3:
                guard let handle = model.keys.sorted(by: { $0.packed < $1.packed }).randomElement(using: &generator) else { continue }
                #expect(slab.remove(handle) == model.removeValue(forKey: handle))
                retired.append(handle)
            default:
                guard let handle = model.keys.sorted(by: { $0.packed < $1.packed }).randomElement(using: &generator) else { continue }
                slab[handle] = -step
                model[handle] = -step
            }
            #expect(slab.count == model.count)
        }
        #expect(slab.handles == model.keys.sorted { $0.index < $1.index })
        for (handle, value) in model { #expect(slab[handle] == value) }
        #expect(retired.allSatisfy { !slab.contains($0) })
    }
}

import RelayBase
import Testing

/// Counts what became of each element: every one that was made is destroyed once, when it should be.
private final class Register {
    private(set) var destroyed: [Int: Int] = [:]

    func noteDestroyed(_ number: Int) { destroyed[number, default: 0] += 1 }
}

private struct Element: ~Copyable {
    let number: Int
    let register: Register
    var notes = 0

    init(_ number: Int, _ register: Register) {
        self.number = number
        self.register = register
    }

    deinit { register.noteDestroyed(number) }
}

/// `#expect` needs what it looks at to be copyable, or behind a reference.
private final class Table {
    var table: UniqueTable<Element>

    init(capacityMax: Int) { table = UniqueTable(capacityMax: capacityMax) }

    func insert(_ number: Int, _ register: Register) -> Handle? { table.insert(Element(number, register)) }
    func remove(_ handle: Handle) -> Bool { table.remove(handle) }
    func contains(_ handle: Handle) -> Bool { table.contains(handle) }
    func isLive(_ index: Int) -> Bool { table.isLive(index) }
    func number(at index: Int) -> Int { table[index].number }
    func note(at index: Int) { table[index].notes += 1 }
    func notes(at index: Int) -> Int { table[index].notes }
    var count: Int { table.count }
    var endIndex: Int { table.endIndex }
    func handle(at index: Int) -> Handle { table.handle(at: index) }
}

@Suite("UniqueTable")
struct UniqueTableTests {
    @Test("a stale handle names nothing, even when its place is in use again")
    func staleHandle() throws {
        let register = Register()
        let table = Table(capacityMax: 8)
        let first = try #require(table.insert(1, register))
        #expect(table.remove(first))
        #expect(register.destroyed == [1: 1])
        let second = try #require(table.insert(2, register))
        #expect(second.index == first.index)
        #expect(!table.contains(first))
        #expect(!table.remove(first))
        #expect(table.contains(second))
        #expect(table.number(at: Int(second.index)) == 2)
        #expect(table.handle(at: Int(second.index)) == second)
        #expect(register.destroyed == [1: 1])
    }

    @Test("a full table destroys what it refuses, and takes one for each that goes")
    func capacity() throws {
        let register = Register()
        let table = Table(capacityMax: 2)
        let first = try #require(table.insert(1, register))
        #expect(table.insert(2, register) != nil)
        #expect(table.insert(3, register) == nil)
        #expect(register.destroyed == [3: 1])
        #expect(table.count == 2)
        #expect(table.remove(first))
        #expect(table.insert(4, register)?.index == first.index)
    }

    @Test("places outside the table are not live", arguments: [-1, 1, .max, .min])
    func notLive(index: Int) {
        let table = Table(capacityMax: 4)
        #expect(table.insert(1, Register()) != nil)
        #expect(!table.isLive(index))
        #expect(table.isLive(0))
        #expect(!table.contains(Handle(index: .max, generation: 1)))
    }

    @Test("elements are changed in place, and keep their values as the table grows")
    func changeInPlace() {
        let register = Register()
        let table = Table(capacityMax: 1_000)
        for number in 0..<100 {
            #expect(table.insert(number, register) != nil)
            table.note(at: number)
        }
        for number in 0..<100 {
            #expect(table.number(at: number) == number)
            #expect(table.notes(at: number) == 1)
        }
        #expect(register.destroyed.isEmpty, "growing destroys nothing")
    }

    @Test("any run of insertions and removals agrees with a dictionary, and destroys each element exactly once", arguments: [UInt64(1), 2, 3, 4])
    func agreesWithDictionary(seed: UInt64) {
        let register = Register()
        var made = 0
        do {
            var generator = SeededGenerator(seed: seed)
            let table = Table(capacityMax: 50)
            var model: [Handle: Int] = [:]
            for _ in 0..<3_000 {
                if Bool.random(using: &generator) {
                    let handle = table.insert(made, register)
                    #expect((handle == nil) == (model.count == 50))
                    if let handle { #expect(model.updateValue(made, forKey: handle) == nil) }
                    made += 1
                } else if let handle = model.keys.sorted(by: { $0.packed < $1.packed }).randomElement(using: &generator) {
                    #expect(table.remove(handle))
                    #expect(!table.remove(handle))
                    model[handle] = nil
                }
                #expect(table.count == model.count)
            }
            for (handle, number) in model {
                #expect(table.contains(handle))
                #expect(table.number(at: Int(handle.index)) == number)
                #expect(register.destroyed[number] == nil)
            }
            #expect((0..<table.endIndex).count { table.isLive($0) } == model.count)
            #expect(register.destroyed.count == made - model.count)
        }
        // The table is gone, and what it still held with it.
        #expect(register.destroyed.count == made)
        #expect(register.destroyed.values.allSatisfy { $0 == 1 })
    }
}

import ClusterProtocol
import RelayBase
import Testing

@Suite("Nodes of a cluster, by what they say and how long ago")
struct NodeTableTests {
    private static func at(_ milliseconds: UInt64) -> MonotonicInstant { MonotonicInstant.zero.advanced(byMilliseconds: 10_000 + milliseconds) }

    private static func state(_ number: Int, incarnation: UInt64 = 1, isDraining: Bool = false, address: String? = nil, sessions: Int = 0)
        -> NodeState
    {
        NodeState(number: number, name: "n\(number)", incarnation: incarnation, isDraining: isDraining, address: address, sessions: sessions)
    }

    private static func table(connectedAt: UInt64 = 0) -> NodeTable {
        var table = NodeTable(own: 1, leaseMilliseconds: 1_000)
        table.connected(now: at(connectedAt))
        return table
    }

    /// Who is gone, for a node that was heard itself just before.
    private static func expired(_ table: inout NodeTable, _ milliseconds: UInt64) -> [Int] {
        table.said(now: at(milliseconds - 1))
        _ = table.heard(state(1), now: at(milliseconds - 1))
        return table.expire(now: at(milliseconds))
    }

    @Test("a node that has said nothing for a lease is gone, and not before")
    func lease() {
        var table = Self.table()
        _ = table.heard(Self.state(2), now: Self.at(500))
        _ = table.heard(Self.state(3), now: Self.at(1_200))
        #expect(Self.expired(&table, 1_499) == [])
        #expect(Self.expired(&table, 1_500) == [2])
        #expect(!table.isAlive(2) && table.isAlive(3) && table.isAlive(1))
    }

    @Test("a node that is cut off itself holds nobody for gone, nor for a lease after it hears again")
    func cutOff() {
        var table = Self.table()
        _ = table.heard(Self.state(2), now: Self.at(0))
        table.disconnected()
        #expect(Self.expired(&table, 60_000) == [])
        table.connected(now: Self.at(60_000))
        #expect(Self.expired(&table, 60_999) == [])
        _ = table.heard(Self.state(2), now: Self.at(60_500))
        #expect(Self.expired(&table, 61_000) == [])
        #expect(Self.expired(&table, 61_500) == [2])
    }

    @Test("a node that is not heard itself holds nobody for gone")
    func unheard() {
        var table = Self.table()
        _ = table.heard(Self.state(2), now: Self.at(0))
        table.said(now: Self.at(900))
        #expect(table.expire(now: Self.at(5_000)) == [] && table.silent(now: Self.at(5_000)) == [])
        table.said(now: Self.at(5_000))
        #expect(table.expire(now: Self.at(5_001)) == [], "it does not hear itself: its ears may be deaf")
        _ = table.heard(Self.state(1), now: Self.at(5_000))
        #expect(table.silent(now: Self.at(5_001)) == [2])
        #expect(table.expire(now: Self.at(5_001)) == [2])
    }

    @Test("its own lease runs from when what was taken down was said")
    func ownLease() {
        var table = Self.table()
        #expect(!table.holdsLease(now: Self.at(0)))
        table.said(now: Self.at(100))
        #expect(table.holdsLease(now: Self.at(1_099)))
        #expect(!table.holdsLease(now: Self.at(1_100)))
    }

    @Test("another process under the same number is told apart")
    func incarnations() {
        var table = Self.table()
        #expect(table.heard(Self.state(2), now: Self.at(0)) == (true, false))
        #expect(table.heard(Self.state(2), now: Self.at(1)) == (false, false))
        #expect(table.heard(Self.state(2, incarnation: 9), now: Self.at(2)) == (false, true))
    }

    @Test("what is no other node is not taken", arguments: [1, 0, -1, 1_024, Int.max])
    func strangers(number: Int) {
        var table = Self.table()
        #expect(table.heard(Self.state(number), now: Self.at(0)) == (false, false))
        #expect(table.states.isEmpty)
    }

    @Test("clients and rooms go to the node that holds least and stays")
    func refuge() {
        var table = Self.table()
        #expect(table.refuge() == nil && table.heir(among: [2, 3]) == nil)
        _ = table.heard(Self.state(2, address: "b:1", sessions: 5), now: Self.at(0))
        _ = table.heard(Self.state(3, isDraining: true, address: "c:1"), now: Self.at(0))
        _ = table.heard(Self.state(4, sessions: 1), now: Self.at(0))
        #expect(table.refuge()?.number == 2)
        #expect(table.heir(among: [2, 3, 4]) == 4)
        #expect(table.heir(among: [3]) == nil)
        #expect(table.left(2) && !table.left(2))
        #expect(table.refuge() == nil)
    }
}

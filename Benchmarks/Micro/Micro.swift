import BenchmarkSupport
import Glibc
import Reactor
import RelayBase

/// One piece of work, and the least that anybody would have to do in its place.
struct Micro {
    let name: String
    /// What is counted: a frame, a message, a tick.
    let unit: String
    /// What the floor does.
    let floorName: String
    /// Do so many units.
    let work: (Int) -> Void
    let floor: (Int) -> Void
}

/// Keeps a result from being optimized away: what this does with it, the optimizer may not know.
@inline(never)
@_optimize(none)
func use<Value>(_ value: Value) {}

/// Work and floor in turns, in one run: what disturbs the machine disturbs both.
struct MicroResult {
    private let micro: Micro
    private let workUnits: Int
    private let floorUnits: Int
    private(set) var work = Samples()
    private(set) var floor = Samples()

    /// - Parameter milliseconds: that a round takes, about.
    init(_ micro: Micro, milliseconds: Double) {
        self.micro = micro
        (workUnits, floorUnits) = (Self.units(micro.work, milliseconds), Self.units(micro.floor, milliseconds))
    }

    mutating func measure(rounds: Int) {
        for _ in 0..<rounds {
            work.append(Self.nanoseconds(micro.work, workUnits) / Double(workUnits))
            floor.append(Self.nanoseconds(micro.floor, floorUnits) / Double(floorUnits))
        }
    }

    /// Of the fastest rounds: what disturbs computing only ever adds.
    var ratio: Double { work.lowest / floor.lowest }

    /// How many units take so long; warms up on the way.
    private static func units(_ body: (Int) -> Void, _ milliseconds: Double) -> Int {
        var units = 1
        while true {
            let taken = nanoseconds(body, units)
            if taken >= milliseconds * 1e6 / 4 || units >= 1 << 28 {
                return max(1, Int(Double(units) * milliseconds * 1e6 / max(taken, 1)))
            }
            units *= 2
        }
    }

    /// Processor time of the thread, so that waiting for the processor does not count.
    private static func nanoseconds(_ body: (Int) -> Void, _ units: Int) -> Double {
        let start = threadNanoseconds()
        body(units)
        return Double(threadNanoseconds() &- start)
    }

    private static func threadNanoseconds() -> UInt64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}

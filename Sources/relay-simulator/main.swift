import Glibc
import RelayBase
import RelayRooms
import RelaySimulator

// relay-simulator SEED [SECONDS]: one run with its trace. relay-simulator --for WALL-SECONDS [--from SEED] [--seconds SECONDS]: many runs.

/// The simulated seconds of a run when nobody says how many.
let secondsDefault = 20

func fail(_ text: String) -> Never {
    var line = text + "\n"
    _ = line.withUTF8 { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    exit(64)
}

func wallSeconds() -> Int {
    var time = timespec()
    unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    return time.tv_sec
}

func runOne(_ seed: UInt64, seconds: Int) -> Int32 {
    do throws(SimulationFault) {
        let result = try Simulator(Scenario(seed: seed, seconds: seconds), trace: { print($0) }).run()
        print("seed \(seed): \(result)")
        return 0
    } catch {
        print(error)
        return 1
    }
}

func runMany(from first: UInt64, seconds: Int, wall: Int) -> Int32 {
    let end = wallSeconds() + wall
    var seed = first
    var faults = 0
    var account = FrameAccount()
    while wallSeconds() < end {
        do throws(SimulationFault) {
            account.add(try Simulator(Scenario(seed: seed, seconds: seconds)).run().account)
        } catch {
            faults += 1
            print(
                "seed \(error.seed) at \(error.at.nanoseconds / 1_000_000) ms: \(error.invariant)\n  replay: Deploy/dev sim \(error.seed) \(error.seconds)"
            )
        }
        seed += 1
    }
    print("\(seed - first) runs of \(seconds) simulated seconds, \(faults) failed; frames: \(account)")
    return faults == 0 ? 0 : 1
}

var first: UInt64 = 1
var seconds = secondsDefault
var wall: Int?
var positional: [UInt64] = []
var arguments = Array(CommandLine.arguments.dropFirst())
while !arguments.isEmpty {
    let argument = arguments.removeFirst()
    switch argument {
    case "--for", "--from", "--seconds":
        guard let value = arguments.first.flatMap({ UInt64($0) }), value <= UInt64(Int32.max) || argument == "--from" else {
            fail("\(argument) takes a number")
        }
        arguments.removeFirst()
        switch argument {
        case "--for": wall = Int(value)
        case "--from": first = value
        default: seconds = Int(value)
        }
    default:
        guard let value = UInt64(argument), positional.count < 2 else { fail("\(argument) is not a number") }
        positional.append(value)
    }
}
if let seed = positional.first {
    if positional.count == 2 {
        guard let given = Int(exactly: positional[1]), given <= 86_400 else { fail("SECONDS is at most a day") }
        seconds = given
    }
    exit(runOne(seed, seconds: seconds))
}
exit(runMany(from: first, seconds: seconds, wall: wall ?? 60))

import Foundation
import Synchronization
import TLSTransport

/// What one call of a scripted socket does.
enum SocketStep: Sendable {
    /// Takes (or gives) at most so many bytes.
    case atMost(Int)
    /// Answers −1 with this `errno`.
    case fails(Int32)
}

/// Sockets whose calls follow scripts. The system-call table holds plain C functions, so the scripts are found by descriptor.
enum ScriptedSocket {
    struct State: Sendable {
        var receives: [SocketStep] = []
        var sends: [SocketStep] = []
        var incoming: [UInt8] = []
        var outgoing: [UInt8] = []
        var incomingEnded = false
        var receiveCalls = 0
        var sendCalls = 0
    }

    private static let states = Mutex<[Int32: State]>([:])
    private static let nextDescriptor = Atomic<Int32>(1_000_000)

    static func make() -> Int32 {
        let descriptor = nextDescriptor.add(1, ordering: .relaxed).oldValue
        states.withLock { $0[descriptor] = State() }
        return descriptor
    }

    static func with<Result: Sendable>(_ descriptor: Int32, _ body: @Sendable (inout State) -> Result) -> Result {
        states.withLock { body(&$0[descriptor, default: State()]) }
    }

    /// Without a script left: everything there is, then "would block" (or the end).
    static let io = unsafe SocketIO(receive: scriptedReceive, send: scriptedSend)

    static func receive(_ descriptor: Int32, _ room: Int) -> (bytes: [UInt8], errno: Int32?) {
        with(descriptor) { state in
            state.receiveCalls += 1
            var limit = room
            if !state.receives.isEmpty {
                switch state.receives.removeFirst() {
                case .fails(let code): return ([], code)
                case .atMost(let count): limit = min(limit, count)
                }
            }
            if state.incoming.isEmpty { return ([], state.incomingEnded ? nil : EAGAIN) }
            let bytes = Array(state.incoming.prefix(limit))
            state.incoming.removeFirst(bytes.count)
            return (bytes, nil)
        }
    }

    static func send(_ descriptor: Int32, _ bytes: [UInt8]) -> (count: Int, errno: Int32?) {
        with(descriptor) { state in
            state.sendCalls += 1
            var taken = bytes[...]
            if !state.sends.isEmpty {
                switch state.sends.removeFirst() {
                case .fails(let code): return (0, code)
                case .atMost(let count): taken = bytes.prefix(count)
                }
            }
            state.outgoing += taken
            return (taken.count, nil)
        }
    }
}

private func scriptedReceive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _: Int32) -> Int {
    let (data, code) = ScriptedSocket.receive(descriptor, count)
    if let code {
        errno = code
        return -1
    }
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: count).copyBytes(from: data)
    return data.count
}

private func scriptedSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _: Int32) -> Int {
    let (taken, code) = unsafe ScriptedSocket.send(descriptor, Array(UnsafeRawBufferPointer(start: bytes, count: count)))
    if let code {
        errno = code
        return -1
    }
    return taken
}

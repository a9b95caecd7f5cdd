import Glibc

/// The two system calls that a connection makes, so that a test can script their outcomes. Each sets `errno` when it answers −1.
@safe
package struct SocketIO: Sendable {
    package typealias Receive = @convention(c) (_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ flags: Int32) -> Int
    package typealias Send = @convention(c) (_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int

    let receive: Receive
    let send: Send

    package init(receive: Receive, send: Send) {
        unsafe self.receive = unsafe receive
        unsafe self.send = unsafe send
    }

    package static let linux = unsafe SocketIO(receive: systemReceive, send: systemSend)
}

private func systemReceive(_ descriptor: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    unsafe recv(descriptor, bytes, count, flags)
}

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    unsafe send(descriptor, bytes, count, flags)
}

/// What came of one call.
enum SocketOutcome: Equatable {
    case done(Int)
    case wouldBlock
    case failed(errno: Int32)
}

extension SocketIO {
    func receive(_ descriptor: Int32, into bytes: UnsafeMutableRawBufferPointer) -> SocketOutcome {
        Self.retrying { unsafe receive(descriptor, bytes.baseAddress, bytes.count, 0) }
    }

    func send(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> SocketOutcome {
        Self.retrying { unsafe send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
    }

    private static func retrying(_ call: () -> Int) -> SocketOutcome {
        while true {
            let count = call()
            if count >= 0 { return .done(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldBlock
            case let code: return .failed(errno: code)
            }
        }
    }
}

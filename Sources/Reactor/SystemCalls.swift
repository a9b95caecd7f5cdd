package import CLinux
internal import Glibc

/// The system calls that an event loop makes, as a table of C functions.
///
/// A loop holds one value and calls through it, so that a test can put a scripted function in any place and play EINTR, EAGAIN, a short write,
/// ECONNRESET or EMFILE at the moment it chooses. An indirect call costs about a nanosecond beside a system call's hundred or more.
/// The typed face of each entry is in the extensions; nothing else should call the entries directly.
@safe
package struct SystemCalls: Sendable {
    package typealias OnDescriptor = @convention(c) @Sendable (Int32) -> Int32
    package typealias WithNumber = @convention(c) @Sendable (Int32, Int32) -> Int32
    package typealias Accept4 =
        @convention(c) @Sendable (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?, Int32) -> Int32
    package typealias Receive = @convention(c) @Sendable (Int32, UnsafeMutableRawPointer?, Int, Int32) -> Int
    package typealias Send = @convention(c) @Sendable (Int32, UnsafeRawPointer?, Int, Int32) -> Int
    package typealias Read = @convention(c) @Sendable (Int32, UnsafeMutableRawPointer?, Int) -> Int
    package typealias Write = @convention(c) @Sendable (Int32, UnsafeRawPointer?, Int) -> Int
    package typealias Open = @convention(c) @Sendable (UnsafePointer<CChar>?, Int32) -> Int32
    package typealias MakeSocket = @convention(c) @Sendable (Int32, Int32, Int32) -> Int32
    package typealias WithAddress = @convention(c) @Sendable (Int32, UnsafePointer<sockaddr>?, socklen_t) -> Int32
    package typealias GetAddress =
        @convention(c) @Sendable (Int32, UnsafeMutablePointer<sockaddr>?, UnsafeMutablePointer<socklen_t>?) -> Int32
    package typealias GetOption =
        @convention(c) @Sendable (Int32, Int32, Int32, UnsafeMutableRawPointer?, UnsafeMutablePointer<socklen_t>?) -> Int32
    package typealias SetOption = @convention(c) @Sendable (Int32, Int32, Int32, UnsafeRawPointer?, socklen_t) -> Int32
    package typealias EpollControl = @convention(c) @Sendable (Int32, Int32, Int32, UnsafeMutablePointer<epoll_event>?) -> Int32
    package typealias EpollWait = @convention(c) @Sendable (Int32, UnsafeMutablePointer<epoll_event>?, Int32, Int32) -> Int32
    package typealias EpollWaitNanoseconds = @convention(c) @Sendable (Int32, UnsafeMutablePointer<epoll_event>?, Int32, Int64) -> Int32

    package var accept4: Accept4
    package var recv: Receive
    package var send: Send
    package var read: Read
    package var write: Write
    package var open: Open
    package var close: OnDescriptor
    package var socket: MakeSocket
    package var bind: WithAddress
    package var listen: WithNumber
    package var connect: WithAddress
    package var shutdown: WithNumber
    package var getsockname: GetAddress
    package var getpeername: GetAddress
    package var getsockopt: GetOption
    package var setsockopt: SetOption
    package var epollCreate: OnDescriptor
    package var epollControl: EpollControl
    package var epollWait: EpollWait
    package var epollWaitNanoseconds: EpollWaitNanoseconds

    /// The kernel's own.
    package static let linux = makeLinuxCalls()
}

// At file scope, where the C functions' bare names are not taken by the table's properties.
private func makeLinuxCalls() -> SystemCalls {
    unsafe SystemCalls(
        accept4: clinux_accept4,
        recv: recv,
        send: send,
        read: read,
        write: write,
        open: clinux_open,
        close: close,
        socket: socket,
        bind: bind,
        listen: listen,
        connect: connect,
        shutdown: shutdown,
        getsockname: getsockname,
        getpeername: getpeername,
        getsockopt: getsockopt,
        setsockopt: setsockopt,
        epollCreate: epoll_create1,
        epollControl: epoll_ctl,
        epollWait: epoll_wait,
        epollWaitNanoseconds: clinux_epoll_wait_nanoseconds
    )
}

import CLinux
import Glibc
import Reactor

/// What a scripted system call does instead of, or before, the real one.
enum Step: Sendable {
    /// Fails with this errno, without touching the kernel.
    case fail(Int32)
    /// Makes the real call with at most so many bytes.
    case limit(Int)
    /// Makes the real call.
    case real
}

enum Operation: Hashable, Sendable {
    case accept4, recv, send, read, write, open, close, connect, epollWait, epollControl
}

/// The steps that are still to be played on one thread, and the calls that were made. Once an operation's steps are used up, its calls are real.
final class Script {
    fileprivate(set) var steps: [Operation: [Step]]
    fileprivate(set) var callCounts: [Operation: Int] = [:]

    fileprivate init(_ steps: [Operation: [Step]]) {
        self.steps = steps
    }

    func count(_ operation: Operation) -> Int { callCounts[operation, default: 0] }
    var isPlayed: Bool { steps.values.allSatisfy { $0.isEmpty } }
}

/// Runs `body` with a table of system calls that plays `steps` on this thread.
@discardableResult
func withScript<Result>(_ steps: [Operation: [Step]], _ body: (SystemCalls, Script) throws -> Result) rethrows -> Result {
    let script = Script(steps)
    unsafe pthread_setspecific(scriptKey, Unmanaged.passUnretained(script).toOpaque())
    defer { pthread_setspecific(scriptKey, nil) }
    return try withExtendedLifetime(script) { try body(scriptedCalls, script) }
}

private let scriptKey: pthread_key_t = {
    var key = pthread_key_t()
    let result = unsafe pthread_key_create(&key, nil)
    precondition(result == 0)
    return key
}()

private func nextStep(_ operation: Operation) -> Step {
    guard let pointer = unsafe pthread_getspecific(scriptKey) else { return .real }
    let script = unsafe Unmanaged<Script>.fromOpaque(pointer).takeUnretainedValue()
    script.callCounts[operation, default: 0] += 1
    guard var steps = script.steps[operation], !steps.isEmpty else { return .real }
    let step = steps.removeFirst()
    script.steps[operation] = steps
    return step
}

/// The errno to fail with, or how many bytes of `count` to move.
private enum Play {
    case fail
    case bytes(Int)
}

private func play(_ operation: Operation, bytes: Int = 0) -> Play {
    switch nextStep(operation) {
    case .fail(let code):
        errno = code
        return .fail
    case .limit(let most): return .bytes(min(most, bytes))
    case .real: return .bytes(bytes)
    }
}

private func scriptedAccept(
    _ descriptor: Int32, _ address: UnsafeMutablePointer<sockaddr>?, _ length: UnsafeMutablePointer<socklen_t>?, _ flags: Int32
) -> Int32 {
    if case .fail = play(.accept4) { return -1 }
    return unsafe clinux_accept4(descriptor, address, length, flags)
}

private func scriptedReceive(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    guard case .bytes(let count) = play(.recv, bytes: count) else { return -1 }
    return unsafe recv(descriptor, buffer, count, flags)
}

private func scriptedSend(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    guard case .bytes(let count) = play(.send, bytes: count) else { return -1 }
    return unsafe send(descriptor, buffer, count, flags)
}

private func scriptedRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    guard case .bytes(let count) = play(.read, bytes: count) else { return -1 }
    return unsafe read(descriptor, buffer, count)
}

private func scriptedWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    guard case .bytes(let count) = play(.write, bytes: count) else { return -1 }
    return unsafe write(descriptor, buffer, count)
}

private func scriptedOpen(_ path: UnsafePointer<CChar>?, _ flags: Int32) -> Int32 {
    if case .fail = play(.open) { return -1 }
    return unsafe clinux_open(path, flags)
}

private func scriptedClose(_ descriptor: Int32) -> Int32 {
    let played = play(.close)
    // A failing close has closed all the same.
    let code = errno
    let result = close(descriptor)
    guard case .fail = played else { return result }
    errno = code
    return -1
}

private func scriptedConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>?, _ length: socklen_t) -> Int32 {
    if case .fail = play(.connect) { return -1 }
    return unsafe connect(descriptor, address, length)
}

private func scriptedEpollWait(_ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ count: Int32, _ timeout: Int32) -> Int32 {
    if case .fail = play(.epollWait) { return -1 }
    return unsafe epoll_wait(epoll, events, count, timeout)
}

private func scriptedEpollWaitNanoseconds(
    _ epoll: Int32, _ events: UnsafeMutablePointer<epoll_event>?, _ count: Int32, _ timeout: Int64
) -> Int32 {
    if case .fail = play(.epollWait) { return -1 }
    return unsafe clinux_epoll_wait_nanoseconds(epoll, events, count, timeout)
}

private func scriptedEpollControl(_ epoll: Int32, _ operation: Int32, _ descriptor: Int32, _ event: UnsafeMutablePointer<epoll_event>?) -> Int32 {
    if case .fail = play(.epollControl) { return -1 }
    return unsafe epoll_ctl(epoll, operation, descriptor, event)
}

private let scriptedCalls: SystemCalls = {
    var calls = SystemCalls.linux
    unsafe calls.accept4 = scriptedAccept
    unsafe calls.recv = scriptedReceive
    unsafe calls.send = scriptedSend
    unsafe calls.read = scriptedRead
    unsafe calls.write = scriptedWrite
    unsafe calls.open = scriptedOpen
    calls.close = scriptedClose
    unsafe calls.connect = scriptedConnect
    unsafe calls.epollWait = scriptedEpollWait
    unsafe calls.epollWaitNanoseconds = scriptedEpollWaitNanoseconds
    unsafe calls.epollControl = scriptedEpollControl
    return calls
}()

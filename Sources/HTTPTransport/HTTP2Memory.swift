import CNghttp2
import Glibc

/// Where the HTTP/2 library's memory comes from: malloc, but for the one large block that each session holds as long as it lives, for the frame that goes out.
///
/// It is made for 16 KiB, of which a relay writes a few hundred bytes: control frames and heads of responses (DATA goes another way, see
/// ``HTTP2Core/sendData(_:header:count:)``). In pages of their own such blocks cost what was written; from malloc, where something else was before, all of it.
///
/// `@unchecked Sendable`: `free` and `used` are touched inside `locked` alone, which holds the mutex. It is taken when a session begins and ends.
@safe
final class HTTP2FramePages: @unchecked Sendable {  // Safe: as said above.
    static let shared = HTTP2FramePages()

    /// Requests of these sizes get a slot: the library's is 16 KiB and a frame's header.
    static let requestMin = 16 << 10
    static let slotBytes = 20 << 10
    /// Address space of 1.25 GiB, of which only what is touched is memory. Beyond, malloc serves.
    static let slotsMax = 1 << 16

    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    /// `nil`: the system had no address space.
    private let start: UnsafeMutableRawPointer?
    private var free: [Int32] = []
    private var used = 0

    private init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
        let mapped = unsafe mmap(
            nil, Self.slotBytes * Self.slotsMax, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        unsafe start = unsafe mapped == MAP_FAILED ? nil : mapped
        // A huge page would be touched whole by the first byte.
        if let start = unsafe start { unsafe madvise(start, Self.slotBytes * Self.slotsMax, MADV_NOHUGEPAGE) }
    }

    /// A slot; `nil` when there is none.
    func take() -> UnsafeMutableRawPointer? {
        guard let start = unsafe start else { return nil }
        let slot: Int? = locked {
            if let slot = free.popLast() { return Int(slot) }
            guard used < Self.slotsMax else { return nil }
            used += 1
            return used - 1
        }
        return unsafe slot.map { unsafe start + $0 * Self.slotBytes }
    }

    func owns(_ block: UnsafeMutableRawPointer) -> Bool {
        guard let start = unsafe start else { return false }
        return unsafe block >= start && block < start + Self.slotBytes * Self.slotsMax
    }

    /// Takes back a slot, and gives its memory to the system.
    func giveBack(_ block: UnsafeMutableRawPointer) {
        guard let start = unsafe start else { return }
        unsafe madvise(block, Self.slotBytes, MADV_DONTNEED)
        let slot = unsafe Int32((block - start) / Self.slotBytes)
        locked { free.append(slot) }
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return body()
    }
}

private func allocate(_ bytes: Int, _: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    if bytes >= HTTP2FramePages.requestMin, bytes <= HTTP2FramePages.slotBytes, let slot = unsafe HTTP2FramePages.shared.take() {
        return unsafe slot
    }
    return unsafe malloc(bytes)
}

private func allocateZeroed(_ count: Int, _ bytes: Int, _: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe calloc(count, bytes)
}

private func release(_ block: UnsafeMutableRawPointer?, _: UnsafeMutableRawPointer?) {
    guard let block = unsafe block else { return }
    if unsafe HTTP2FramePages.shared.owns(block) { unsafe HTTP2FramePages.shared.giveBack(block) } else { unsafe free(block) }
}

private func reallocate(_ block: UnsafeMutableRawPointer?, _ bytes: Int, _ user: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let block = unsafe block else { return unsafe allocate(bytes, user) }
    guard unsafe HTTP2FramePages.shared.owns(block) else { return unsafe realloc(block, bytes) }
    guard let moved = unsafe malloc(bytes) else { return nil }
    unsafe moved.copyMemory(from: block, byteCount: min(bytes, HTTP2FramePages.slotBytes))
    unsafe release(block, user)
    return unsafe moved
}

/// The library copies it into the session.
func http2Memory() -> nghttp2_mem {
    unsafe nghttp2_mem(mem_user_data: nil, malloc: allocate, free: release, calloc: allocateZeroed, realloc: reallocate)
}

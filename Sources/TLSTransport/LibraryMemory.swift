internal import COpenSSL
import Glibc

/// The TLS library's allocator: malloc, with the few sizes that every record needs kept in a pool per thread.
///
/// Connections give their 17 KiB record buffers back as soon as they are idle, which makes idle connections cheap, but costs an allocation for every record
/// sealed or opened; and the library makes small objects for each record too. From the pool they cost next to nothing, the same few warm
/// buffers serve all connections of a loop, and relaying in steady state calls malloc not once.
package enum LibraryMemory {
    /// Installs the pool, once, if the library has allocated nothing yet; otherwise it stays with malloc. Making a context does this by itself: call it at the
    /// start of a program that uses the library for other things first.
    package static func prepare() {
        _ = isPooled
    }

    /// Whether the pool is in use.
    package static let isPooled: Bool = unsafe CRYPTO_set_mem_functions(poolAllocate, poolReallocate, poolFree) == 1
}

/// A size that is pooled: requests of `requestMin ... bytes` get blocks of `bytes`.
private struct SizeClass {
    let requestMin: Int
    let bytes: Int
    let blocksMax: Int
}

/// Sizes of the library's packet-writer levels, and of its record buffers (16 KiB of data and up to 2 KiB around it). Both waste nothing on objects that stay.
private let smallClass = SizeClass(requestMin: 33, bytes: 40, blocksMax: 32)
private let recordClass = SizeClass(requestMin: 16 << 10, bytes: 18 << 10, blocksMax: 6)

/// Free blocks of one size, linked through their own first words.
@safe
private struct FreeList {
    private var first: UnsafeMutableRawPointer?
    private var count = 0

    mutating func pop() -> UnsafeMutableRawPointer? {
        guard let block = unsafe first else { return nil }
        unsafe first = unsafe block.load(as: UnsafeMutableRawPointer?.self)
        count -= 1
        return unsafe block
    }

    /// False when the list is full.
    mutating func push(_ block: UnsafeMutableRawPointer, max: Int) -> Bool {
        guard count < max else { return false }
        unsafe block.storeBytes(of: first, as: UnsafeMutableRawPointer?.self)
        unsafe first = unsafe block
        count += 1
        return true
    }

    mutating func drain() {
        while let block = unsafe pop() { unsafe free(block) }
    }
}

private struct ThreadPool {
    var small = FreeList()
    var records = FreeList()
}

/// The key of each thread's pool.
private let poolKey: pthread_key_t = {
    var key = pthread_key_t()
    unsafe precondition(pthread_key_create(&key, poolThreadEnds) == 0, "a thread-specific key is to be had at start-up")
    return key
}()

private func threadPool() -> UnsafeMutablePointer<ThreadPool>? {
    if let pool = unsafe pthread_getspecific(poolKey) { return unsafe pool.assumingMemoryBound(to: ThreadPool.self) }
    guard let memory = unsafe malloc(MemoryLayout<ThreadPool>.size) else { return nil }
    let pool = unsafe memory.bindMemory(to: ThreadPool.self, capacity: 1)
    unsafe pool.initialize(to: ThreadPool())
    guard unsafe pthread_setspecific(poolKey, memory) == 0 else {
        unsafe free(memory)
        return nil
    }
    return unsafe pool
}

private func poolThreadEnds(_ memory: UnsafeMutableRawPointer?) {
    guard let memory = unsafe memory else { return }
    let pool = unsafe memory.assumingMemoryBound(to: ThreadPool.self)
    unsafe pool.pointee.small.drain()
    unsafe pool.pointee.records.drain()
    unsafe free(memory)
}

private func poolAllocate(_ bytes: Int, _: UnsafePointer<CChar>?, _: Int32) -> UnsafeMutableRawPointer? {
    guard bytes > 0 else { return nil }
    if bytes >= smallClass.requestMin, bytes <= smallClass.bytes {
        return unsafe threadPool()?.pointee.small.pop() ?? malloc(smallClass.bytes)
    }
    if bytes >= recordClass.requestMin, bytes <= recordClass.bytes {
        return unsafe threadPool()?.pointee.records.pop() ?? malloc(recordClass.bytes)
    }
    return unsafe malloc(bytes)
}

private func poolReallocate(_ block: UnsafeMutableRawPointer?, _ bytes: Int, _ file: UnsafePointer<CChar>?, _ line: Int32) -> UnsafeMutableRawPointer?
{
    guard bytes > 0 else {
        unsafe poolFree(block, file, line)
        return nil
    }
    return unsafe realloc(block, bytes)
}

private func poolFree(_ block: UnsafeMutableRawPointer?, _: UnsafePointer<CChar>?, _: Int32) {
    guard let block = unsafe block else { return }
    // The library does not say how large the block is. Any block of at least a class's size, and not much more, will do for that class.
    let bytes = unsafe segue_ssl_block_size(block)
    if bytes >= smallClass.bytes, bytes < smallClass.bytes + 16 {
        if unsafe threadPool()?.pointee.small.push(block, max: smallClass.blocksMax) == true { return }
    } else if bytes >= recordClass.bytes, bytes < recordClass.bytes + 4_096 {
        if unsafe threadPool()?.pointee.records.push(block, max: recordClass.blocksMax) == true { return }
    }
    unsafe free(block)
}

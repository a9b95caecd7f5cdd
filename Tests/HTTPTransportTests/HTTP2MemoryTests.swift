import CNghttp2
import RelayBase
import Testing

@testable import HTTPTransport

@Suite(.serialized) struct HTTP2MemoryTests {
    @Test("a slot that was given back is empty again, and is the next to be taken")
    func slots() throws {
        let pages = HTTP2FramePages.shared
        let first = try unsafe #require(pages.take())
        let second = try unsafe #require(pages.take())
        #expect(unsafe pages.owns(first) && pages.owns(second))
        #expect(unsafe abs(second - first) >= HTTP2FramePages.slotBytes)
        unsafe first.initializeMemory(as: UInt8.self, repeating: 0xAA, count: HTTP2FramePages.slotBytes)
        unsafe second.initializeMemory(as: UInt8.self, repeating: 0xBB, count: HTTP2FramePages.slotBytes)
        unsafe pages.giveBack(first)
        #expect(unsafe second.load(fromByteOffset: HTTP2FramePages.slotBytes - 1, as: UInt8.self) == 0xBB)
        let third = try unsafe #require(pages.take())
        #expect(unsafe third.load(as: UInt8.self) == 0, "its memory went to the system meanwhile")
        unsafe pages.giveBack(second)
        unsafe pages.giveBack(third)
    }

    @Test("memory from malloc is told apart")
    func others() {
        let block = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 16)
        defer { unsafe block.deallocate() }
        #expect(unsafe !HTTP2FramePages.shared.owns(block))
    }

    @Test("the library's memory: a frame's buffer gets a slot, everything else malloc, and what grows keeps its bytes")
    func library() throws {
        let memory = unsafe http2Memory()
        // As the library asks for it.
        let frame = try unsafe #require(memory.realloc(nil, 16_394, nil))
        #expect(unsafe HTTP2FramePages.shared.owns(frame))
        for bytes in [1, 4_096, HTTP2FramePages.requestMin - 1, HTTP2FramePages.slotBytes + 1] {
            let block = try unsafe #require(memory.malloc(bytes, nil))
            #expect(unsafe !HTTP2FramePages.shared.owns(block), "\(bytes)")
            unsafe memory.free(block, nil)
        }
        unsafe frame.storeBytes(of: 0x0102_0304, as: UInt32.self)
        let moved = try unsafe #require(memory.realloc(frame, 100_000, nil))
        #expect(unsafe moved.load(as: UInt32.self) == 0x0102_0304 && !HTTP2FramePages.shared.owns(moved))
        unsafe memory.free(moved, nil)
        unsafe memory.free(nil, nil)
        let zeroed = try unsafe #require(memory.calloc(16, 4_096, nil))
        let isZero = (0..<65_536).allSatisfy { unsafe zeroed.load(fromByteOffset: $0, as: UInt8.self) == 0 }
        #expect(isZero)
        unsafe memory.free(zeroed, nil)
    }
}

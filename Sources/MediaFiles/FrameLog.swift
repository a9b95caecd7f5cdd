internal import Glibc
internal import RelayBase

/// The frame log: every frame of one stream, byte for byte as it came.
///
/// ```
/// segue-frames 1\n                                   the format and its version
/// {"participant":…,"stream":…,"kind":…,…}\n          one line of JSON that describes the stream
/// | length u32 | frame: header, extensions, payload | length u32 | frame | …      big-endian
/// ```
///
/// It is only ever appended to, so whatever ends the writer, what was flushed is good; a reader stops at the last whole record.
package enum FrameLog {
    static let magic: [UInt8] = Array("segue-frames 1\n".utf8)
    static let lengthByteCount = 4
    /// Longer records are not believed.
    static let frameBytesMax = 64 << 20
    static let descriptionBytesMax = 256 << 10
}

/// Appends to a file through a buffer. What is buffered is lost when the process dies.
@safe
struct AppendingFile: ~Copyable {
    static let bufferedBytesMax = 64 << 10

    let path: String
    private let descriptor: CInt
    private var buffer = ByteQueue()

    /// Creates the file; one that exists already is not touched.
    ///
    /// - Returns: `nil` when the file exists.
    static func create(_ path: String) throws(MediaFileFault) -> AppendingFile? {
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        if descriptor >= 0 { return AppendingFile(path: path, descriptor: descriptor) }
        if errno == EEXIST { return nil }
        throw .create(path: path, reason: systemText(errno))
    }

    private init(path: String, descriptor: CInt) {
        self.path = path
        self.descriptor = descriptor
    }

    deinit {
        _ = unsafe Self.writeAll(buffer.readable, to: descriptor)
        close(descriptor)
    }

    mutating func append(_ bytes: RawSpan) {
        buffer.append(bytes)
    }

    mutating func append(bigEndian value: UInt32) {
        unsafe buffer.reserve(4).storeBytes(of: value.bigEndian, as: UInt32.self)
        buffer.commit(4)
    }

    /// Makes room before a record is appended, so that a full disk cannot make the buffer grow.
    mutating func flushIfFull() throws(MediaFileFault) {
        if buffer.count >= Self.bufferedBytesMax { try flush() }
    }

    mutating func flush() throws(MediaFileFault) {
        buffer.consume(unsafe Self.writeAll(buffer.readable, to: descriptor))
        guard buffer.isEmpty else { throw .write(path: path, reason: systemText(errno)) }
    }

    /// How many bytes the system took: all, unless there was an error.
    private static func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: CInt) -> Int {
        var done = 0
        while done < bytes.count {
            let written = unsafe write(descriptor, UnsafeRawBufferPointer(rebasing: bytes[done...]).baseAddress, bytes.count - done)
            if written < 0, errno == EINTR { continue }
            guard written > 0 else { break }
            done += written
        }
        return done
    }
}

/// The system's sentence for an error number.
func systemText(_ number: CInt) -> String {
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
        guard let start = buffer.baseAddress, unsafe strerror_r(number, start, buffer.count) == 0 else { return "error \(number)" }
        return unsafe String(cString: start)
    }
}

/// Reads a frame log.
@safe
package struct FrameLogReader: ~Copyable {
    package let path: String
    /// The line of JSON that describes the stream.
    package let descriptionLine: String
    private let descriptor: CInt
    private var buffer: ByteQueue
    private var frames = 0

    /// - Throws: `open`, `read`, `notFrameLog`.
    package init(path: String) throws(MediaFileFault) {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .open(path: path, reason: systemText(errno)) }
        var buffer = ByteQueue()
        let line: String
        do {
            line = try Self.readHead(descriptor, &buffer, path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
        descriptionLine = line
        self.buffer = buffer
    }

    deinit {
        close(descriptor)
    }

    /// The next frame, header first; `nil` at the end.
    ///
    /// - Throws: `read`; `frameLogTruncated` when the file ends inside a record; `notFrameLog` for a length beyond belief.
    package mutating func next() throws(MediaFileFault) -> [UInt8]? {
        guard try fill(FrameLog.lengthByteCount) else {
            if buffer.isEmpty { return nil }
            throw .frameLogTruncated(path: path, frames: frames)
        }
        let length = unsafe Int(UInt32(bigEndian: buffer.readable.loadUnaligned(as: UInt32.self)))
        guard length <= FrameLog.frameBytesMax else { throw .notFrameLog(path: path) }
        guard try fill(FrameLog.lengthByteCount + length) else { throw .frameLogTruncated(path: path, frames: frames) }
        let frame = unsafe Array(buffer.readable[FrameLog.lengthByteCount..<FrameLog.lengthByteCount + length])
        buffer.consume(FrameLog.lengthByteCount + length)
        frames += 1
        return frame
    }

    /// Reads until `count` bytes are buffered; false when the file has fewer.
    private mutating func fill(_ count: Int) throws(MediaFileFault) -> Bool {
        while buffer.count < count {
            if try Self.readMore(descriptor, &buffer, path) == 0 { return false }
        }
        return true
    }

    private static func readMore(_ descriptor: CInt, _ buffer: inout ByteQueue, _ path: String) throws(MediaFileFault) -> Int {
        while true {
            let room = unsafe buffer.reserve(64 << 10)
            let count = unsafe read(descriptor, room.baseAddress, room.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .read(path: path, reason: systemText(errno)) }
            buffer.commit(count)
            return count
        }
    }

    private static func readHead(_ descriptor: CInt, _ buffer: inout ByteQueue, _ path: String) throws(MediaFileFault) -> String {
        let magic = FrameLog.magic
        while true {
            let ended = try readMore(descriptor, &buffer, path) == 0
            let bytes = unsafe buffer.readable
            guard unsafe bytes.prefix(magic.count).elementsEqual(magic.prefix(bytes.count)) else { throw .notFrameLog(path: path) }
            if bytes.count > magic.count, let end = unsafe bytes[magic.count...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = unsafe String(decoding: bytes[magic.count..<end], as: UTF8.self)
                buffer.consume(end + 1)
                return line
            }
            guard !ended, buffer.count <= FrameLog.descriptionBytesMax else { throw .notFrameLog(path: path) }
        }
    }
}

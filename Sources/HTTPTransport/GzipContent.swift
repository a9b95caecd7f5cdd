import CZlib

/// The content coding gzip (RFC 9110 §8.4.1.3, RFC 1952) for content that is coded once and sent often.
package enum GzipContent {
    /// - Returns: the coded form; `nil` when it is no shorter, or zlib has no memory for it.
    package static func encode(_ bytes: [UInt8]) -> [UInt8]? {
        guard let count = UInt32(exactly: bytes.count), count > 0 else { return nil }
        var stream = unsafe z_stream()
        guard unsafe segue_deflate_init_gzip(&stream, Z_BEST_COMPRESSION) == Z_OK else { return nil }
        defer { unsafe deflateEnd(&stream) }
        // Room for less than it had: what does not fit is not worth its coding.
        var coded = [UInt8](repeating: 0, count: bytes.count - 1)
        let ending = unsafe bytes.withUnsafeBufferPointer { source in
            unsafe coded.withUnsafeMutableBufferPointer { room in
                unsafe stream.next_in = UnsafeMutablePointer(mutating: source.baseAddress)
                unsafe stream.avail_in = count
                unsafe stream.next_out = room.baseAddress
                unsafe stream.avail_out = count - 1
                return unsafe deflate(&stream, Z_FINISH)
            }
        }
        guard ending == Z_STREAM_END else { return nil }
        unsafe coded.removeLast(Int(stream.avail_out))
        return coded
    }
}

import CNghttp2

/// Header fields laid out as the HTTP/2 library takes them: all bytes in one array, and name-value records that point into it.
struct HTTP2FieldBlock {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    mutating func append(name: String, value: String) {
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: value.utf8)
        lengths.append((name.utf8.count, value.utf8.count))
    }

    /// Lends the records for the duration of `body`; the library copies what it keeps.
    mutating func withRecords<Result>(_ body: (UnsafePointer<nghttp2_nv>?, Int) -> Result) -> Result {
        let lengths = lengths
        return unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            var records = unsafe [nghttp2_nv]()
            unsafe records.reserveCapacity(lengths.count)
            var next = buffer.baseAddress
            for length in lengths {
                let value = unsafe next?.advanced(by: length.name)
                unsafe records.append(
                    nghttp2_nv(name: next, value: value, namelen: length.name, valuelen: length.value, flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)))
                unsafe next = value?.advanced(by: length.value)
            }
            return unsafe records.withUnsafeBufferPointer { unsafe body($0.baseAddress, $0.count) }
        }
    }
}

internal import COpenSSL

/// The bytes of a file that may hold a private key: wiped before the memory is given back.
@safe
struct SecretBytes: ~Copyable {
    private let storage: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) {
        unsafe storage = .allocate(byteCount: max(capacity, 1), alignment: 1)
    }

    init(_ bytes: borrowing Span<UInt8>) {
        self.init(capacity: bytes.count)
        for index in bytes.indices { unsafe storage[index] = bytes[index] }
        count = bytes.count
    }

    deinit {
        unsafe OPENSSL_cleanse(storage.baseAddress, storage.count)
        unsafe storage.deallocate()
    }

    /// Lives as long as the value itself.
    var baseAddress: UnsafeMutableRawPointer? { unsafe storage.baseAddress }

    var capacity: Int { unsafe storage.count }

    /// Fills what is left of the capacity by `fill`, which returns how many bytes it wrote or something negative, which is handed back.
    mutating func append(_ fill: (UnsafeMutableRawBufferPointer) -> Int) -> Int {
        let written = unsafe fill(UnsafeMutableRawBufferPointer(rebasing: storage[count...]))
        if written > 0 { count += written }
        return written
    }

    /// The bytes as an ordinary array, for files without secrets.
    var copy: [UInt8] { unsafe Array(storage.prefix(count)) }
}

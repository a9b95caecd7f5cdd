import Glibc

/// A WAV file of 32-bit float samples that grows as sound comes. Killed at any moment, it is good up to its last whole second.
///
/// Float, so that what adds up beyond full scale is kept as it is instead of clipped.
@safe
struct WaveFile: ~Copyable {
    /// Sizes in a WAV header have 32 bits; all of the header counts, too.
    static let samplesMax = (Int(UInt32.max) - headerBytes) / 4
    static let headerBytes = 58
    private static let formatIEEEFloat: UInt32 = 3

    let path: String
    private let descriptor: CInt
    private let sampleRate: Int
    private let channels: Int
    /// Little-endian bit patterns that are still to be written.
    private var waiting: [UInt32] = []
    /// In the file, of all channels together.
    private var written = 0
    /// The first fault; nothing is written after it.
    private(set) var problem: String?

    /// Makes the file, or writes over one that is there.
    init(path: String, sampleRate: Int, channels: Int) throws(CommandFailure) {
        precondition(sampleRate > 0 && channels > 0, "sound has a rate and channels")
        descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw CommandFailure(code: .failure, message: "cannot make \(path): \(Self.systemText(errno))") }
        self.path = path
        self.sampleRate = sampleRate
        self.channels = channels
        waiting.reserveCapacity(sampleRate * channels)
        flush()
    }

    deinit {
        close(descriptor)
    }

    /// Interleaved samples, whole frames of all channels.
    mutating func append(_ samples: [Float]) {
        for sample in samples { waiting.append(sample.bitPattern.littleEndian) }
        if waiting.count >= sampleRate * channels { flush() }
    }

    /// Writes what waits, and then the header that counts it.
    mutating func flush() {
        guard problem == nil else { return waiting.removeAll(keepingCapacity: true) }
        if waiting.count > Self.samplesMax - written {
            problem = "\(path): a WAV file ends at 4 GiB"
            waiting.removeAll(keepingCapacity: true)
            return
        }
        let offset = Self.headerBytes + written * 4
        guard unsafe waiting.withUnsafeBytes({ unsafe write($0, at: offset) }) else { return }
        written += waiting.count
        waiting.removeAll(keepingCapacity: true)
        _ = unsafe header().withUnsafeBytes { unsafe write($0, at: 0) }
    }

    private mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = unsafe pwrite(
                descriptor, UnsafeRawBufferPointer(rebasing: bytes[done...]).baseAddress, bytes.count - done, off_t(offset + done))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                problem = "\(path): \(Self.systemText(errno))"
                return false
            }
            done += count
        }
        return true
    }

    /// RIFF/WAVE with the chunks `fmt `, `fact` and `data` (Multimedia Programming Interface and Data Specifications 1.0; WAVE_FORMAT_IEEE_FLOAT).
    private func header() -> [UInt8] {
        var bytes: [UInt8] = []
        func put(_ text: StaticString) { unsafe bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)) }
        func put(_ value: Int, bytes count: Int) { for byte in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * byte))) } }
        let dataBytes = written * 4
        put("RIFF")
        put(Self.headerBytes - 8 + dataBytes, bytes: 4)
        put("WAVEfmt ")
        put(18, bytes: 4)
        put(Int(Self.formatIEEEFloat), bytes: 2)
        put(channels, bytes: 2)
        put(sampleRate, bytes: 4)
        put(sampleRate * channels * 4, bytes: 4)
        put(channels * 4, bytes: 2)
        put(32, bytes: 2)
        put(0, bytes: 2)
        put("fact")
        put(4, bytes: 4)
        put(written / channels, bytes: 4)
        put("data")
        put(dataBytes, bytes: 4)
        return bytes
    }

    private static func systemText(_ number: CInt) -> String {
        unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    }
}

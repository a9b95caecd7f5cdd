import MediaFiles
import MediaProtocol

/// One file's packets, a little ahead, so that its streams come out by their decode times however the container interleaves them.
final class FileFeed {
    let path: String
    /// As they are published.
    let streams: [MediaFileStream]
    let skipped: [SkippedMediaStream]
    private var reader: MediaFileReader
    /// Of sound that is encoded anew, by the file's stream number.
    private let cutters: [Int: SoundCutter]
    private var passesLeft: Int
    /// By decode time, the next one last.
    private var ahead: [MediaSample] = []
    private var isAtEnd = false
    /// Faults of single packets and of the file's end: the rest is published all the same.
    private(set) var problems: [String] = []

    private static let aheadMax = 128
    private static let aheadNanosecondsMax: Int64 = 1_000_000_000
    private static let problemsMax = 100

    /// - Parameter encoding: of sound; `nil`: it is sent as the file holds it.
    init(path: String, passes: Int, encoding: EncodingPlan? = nil) throws(CommandFailure) {
        do throws(MediaFileFault) {
            reader = try MediaFileReader(path: path)
        } catch {
            throw CommandFailure(code: .failure, message: "\(error)")
        }
        self.path = path
        var cutters: [Int: SoundCutter] = [:]
        if let encoding {
            for stream in reader.streams { cutters[stream.index] = try SoundCutter(stream, path: path, encoding) }
        }
        self.cutters = cutters
        streams = reader.streams.map { cutters[$0.index]?.stream ?? $0 }
        skipped = reader.skippedStreams
        passesLeft = passes
    }

    /// The decode time of the next packet; `nil` at the end of the last pass.
    var nextDecode: Int64? {
        fill()
        return ahead.last?.decodeNanoseconds
    }

    func next() -> MediaSample? {
        fill()
        return ahead.popLast()
    }

    private func fill() {
        while !isAtEnd, ahead.count < Self.aheadMax {
            if let first = ahead.first, let next = ahead.last, first.decodeNanoseconds - next.decodeNanoseconds > Self.aheadNanosecondsMax { return }
            do {
                if let sample = try reader.next() {
                    if let cutter = cutters[sample.streamIndex] { cutter.take(sample).forEach(insert) } else { insert(sample) }
                } else {
                    endPass()
                }
            } catch {
                note("\(error)")
                switch error {
                case .corruptPacket, .malformedPacket, .timestampOutOfRange: if problems.count >= Self.problemsMax { end() }
                default: endPass()
                }
            }
        }
    }

    private func endPass() {
        passesLeft -= 1
        guard passesLeft > 0, problems.isEmpty else {
            end()
            return
        }
        do {
            try reader.rewind()
        } catch {
            note("\(error)")
            end()
        }
    }

    /// Sound goes on from pass to pass; what is no whole frame at the last one's end comes now.
    private func end() {
        isAtEnd = true
        for cutter in cutters.values { cutter.finish().forEach(insert) }
    }

    /// Behind everything of the same decode time: packets of one stream keep their order.
    private func insert(_ sample: MediaSample) {
        let place = ahead.firstIndex { $0.decodeNanoseconds <= sample.decodeNanoseconds } ?? ahead.endIndex
        ahead.insert(sample, at: place)
    }

    private func note(_ problem: String) {
        if problems.count < Self.problemsMax { problems.append(problem) }
    }
}

/// All files' packets on one timeline.
struct PublishFeed {
    let files: [FileFeed]

    /// The decode time of the very next packet.
    var nextDecode: Int64? { files.compactMap(\.nextDecode).min() }

    mutating func next() -> (file: Int, sample: MediaSample)? {
        var best: (file: Int, decode: Int64)?
        for (index, file) in files.enumerated() {
            guard let decode = file.nextDecode else { continue }
            if best.map({ decode < $0.decode }) ?? true { best = (index, decode) }
        }
        guard let best, let sample = files[best.file].next() else { return nil }
        return (best.file, sample)
    }
}

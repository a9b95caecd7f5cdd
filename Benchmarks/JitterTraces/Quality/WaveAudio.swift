/// Mono sound of 16 bits in a RIFF WAVE file.
struct WaveAudio {
    var sampleRate: Int
    var samples: [Float]

    private static let bytesMax = 64 << 20

    init(sampleRate: Int, samples: [Float]) {
        self.sampleRate = sampleRate
        self.samples = samples
    }

    init(path: String) throws(TraceFault) {
        let bytes = try FileBytes.read(path, bytesMax: Self.bytesMax)
        let reader = ByteReader(bytes[...])
        guard bytes.count >= 12, reader.big32(0) == 0x5249_4646, reader.big32(8) == 0x5741_5645 else { throw TraceFault("\(path): no RIFF WAVE") }
        var place = 12
        var rate: Int?
        while bytes.count - place >= 8 {
            let length = Int(reader.little32(place + 4))
            let body = place + 8
            let rest = min(length, bytes.count - body)
            if reader.big32(place) == 0x666D_7420, rest >= 16 {
                // PCM, one channel, 16 bits.
                guard reader.big16(body).byteSwapped == 1, reader.big16(body + 2).byteSwapped == 1, reader.big16(body + 14).byteSwapped == 16 else {
                    throw TraceFault("\(path): not mono of 16 bits")
                }
                rate = Int(reader.little32(body + 4))
            } else if reader.big32(place) == 0x6461_7461 {
                guard let rate else { throw TraceFault("\(path): sound before its format") }
                sampleRate = rate
                samples = (0..<rest / 2).map { Float(Int16(bitPattern: reader.big16(body + 2 * $0).byteSwapped)) / 32_768 }
                return
            }
            place = body + rest + rest % 2
        }
        throw TraceFault("\(path): no sound in it")
    }

    func write(to path: String) throws(TraceFault) {
        var bytes: [UInt8] = []
        func append(_ value: UInt32, _ count: Int) { for place in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(8 * place))) } }
        bytes += Array("RIFF".utf8)
        append(UInt32(36 + 2 * samples.count), 4)
        bytes += Array("WAVEfmt ".utf8)
        append(16, 4)
        append(0x1_0001, 4)
        append(UInt32(sampleRate), 4)
        append(UInt32(2 * sampleRate), 4)
        append(0x10_0002, 4)
        bytes += Array("data".utf8)
        append(UInt32(2 * samples.count), 4)
        for sample in samples { append(UInt32(UInt16(bitPattern: Int16((max(-1, min(1, sample)) * 32_767).rounded()))), 2) }
        try FileBytes.write(bytes, to: path)
    }
}

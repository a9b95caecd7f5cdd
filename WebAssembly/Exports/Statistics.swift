/// Writes numbers one after the other where the caller has room for 32.
@safe
struct NumberWriter {
    private let numbers: UnsafeMutablePointer<Double>
    private(set) var count: Int32 = 0

    init(_ numbers: UnsafeMutablePointer<Double>) {
        unsafe self.numbers = numbers
    }

    mutating func append(_ number: Double) {
        precondition(count < 32, "room for 32 numbers")
        unsafe numbers[Int(count)] = number
        count += 1
    }

    mutating func append(_ number: some BinaryInteger) {
        append(Double(number))
    }
}

extension JitterStatistics {
    func write(to writer: inout NumberWriter) {
        writer.append(packetsInserted)
        writer.append(duplicates)
        writer.append(late)
        writer.append(malformed)
        writer.append(discarded)
        writer.append(recovered)
        writer.append(samplesPlayed)
        writer.append(concealedSamples)
        writer.append(silentConcealedSamples)
        writer.append(concealmentEvents)
        writer.append(interruptions)
        writer.append(interruptionMilliseconds)
        writer.append(removedByAccelerate)
        writer.append(insertedByExpand)
        writer.append(targetMilliseconds)
        writer.append(levelMilliseconds)
        writer.append(Double(driftPartsPerMillion))
        writer.append(delaySampleMilliseconds)
    }
}

extension VideoPlayoutStatistics {
    func write(to writer: inout NumberWriter) {
        writer.append(framesInserted)
        writer.append(duplicates)
        writer.append(malformed)
        writer.append(shown)
        writer.append(decodedOnly)
        writer.append(shownLate)
        writer.append(late)
        writer.append(undecodable)
        writer.append(discarded)
        writer.append(freezes)
        writer.append(freezeMilliseconds)
        writer.append(framesBuffered)
        writer.append(bytesBuffered)
        writer.append(targetMilliseconds)
        writer.append(isHeldToAudio ? 1 : 0)
        writer.append(skewMilliseconds)
        writer.append(skewMillisecondsMax)
        writer.append(audioDelayWantedMilliseconds)
    }
}

import HTTPTransport
import RelayBase

/// Inflating hostile messages stays within its limit, and is a function of the bytes, not of how the fragments were cut.
///
/// Input: one byte of choices (window, context, limit, number of messages), one byte of seed for the cuts, then the bytes of the messages.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzDeflate(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    guard input.count >= 2 else { return 0 }
    let messages = split(Array(input[2...]), into: input[0] & 0x40 == 0 ? 1 : 2)
    var generator = SeededGenerator(seed: UInt64(input[1]))

    let whole = inflate(messages, choices: input[0]) { $0 }
    let cut = inflate(messages, choices: input[0]) { min($0, Int.random(in: 1...40, using: &generator)) }
    if whole != cut { checkWindow(whole, cut) }
    roundTrip(messages, choices: input[0])
    return 0
}

/// The outputs of the messages that were whole, and the fault that ended it.
private struct Outcome: Equatable {
    var messages: [[UInt8]] = []
    var fault: MessageDeflateFault?
}

private func split(_ bytes: [UInt8], into count: Int) -> [[UInt8]] {
    guard count == 2 else { return [bytes] }
    return [Array(bytes[..<(bytes.count / 2)]), Array(bytes[(bytes.count / 2)...])]
}

private func limit(_ choices: UInt8) -> Int {
    switch choices >> 4 & 3 {
    case 0: 0
    case 1: 100
    case 2: 16 << 10
    default: 200_000
    }
}

private func inflate(_ messages: [[UInt8]], choices: UInt8, pieceSize: (Int) -> Int) -> Outcome {
    let limit = limit(choices)
    var inflater = MessageInflater(windowBits: 8 + Int(choices & 7), contextTakeover: choices & 8 != 0)
    var outcome = Outcome()
    for message in messages {
        var queue = ByteQueue()
        var offset = 0
        do {
            repeat {
                let size = message.isEmpty ? 0 : pieceSize(message.count - offset)
                // A block of exactly this size, so that the sanitizer sees a byte read beside it.
                let block = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
                defer { unsafe block.deallocate() }
                unsafe block.copyBytes(from: message[offset..<offset + size])
                offset += size
                try unsafe inflater.inflate(UnsafeRawBufferPointer(block), isLast: offset == message.count, limit: limit, into: &queue)
                precondition(queue.count <= limit, "a message within its limit")
            } while offset < message.count
        } catch {
            precondition(queue.count <= limit, "a message that is cut off is within its limit")
            precondition(error != .internalFailure, "a peer brings about no failure of this end")
            checkAgain(&inflater, error)
            outcome.fault = error
            return outcome
        }
        outcome.messages.append(unsafe Array(queue.readable))
        inflater.releaseMemory()
    }
    return outcome
}

private func checkAgain(_ inflater: inout MessageInflater, _ fault: MessageDeflateFault) {
    var queue = ByteQueue()
    do {
        try unsafe inflater.inflate(UnsafeRawBufferPointer(start: nil, count: 0), isLast: true, limit: 1, into: &queue)
    } catch {
        precondition(error == fault, "a fault is thrown again")
        return
    }
    preconditionFailure("a fault ends everything")
}

/// The cuts may show in one way only: a reference back past the negotiated window is found out when a call ends between it and what it names.
private func checkWindow(_ whole: Outcome, _ cut: Outcome) {
    precondition(cut.fault == .corrupt, "the cutting of a message makes no difference")
    precondition(whole.messages.starts(with: cut.messages), "what was inflated before the fault is the same")
}

/// What this end compresses, its inflater gives back.
private func roundTrip(_ messages: [[UInt8]], choices: UInt8) {
    let windowBits = 8 + Int(choices & 7)
    let keepsContext = choices & 8 != 0
    var deflater = MessageDeflater(windowBits: windowBits, contextTakeover: keepsContext, level: 1 + Int(choices >> 4 & 7))
    var inflater = MessageInflater(windowBits: windowBits, contextTakeover: keepsContext)
    for message in messages {
        var plain = ByteQueue()
        var compressed = ByteQueue()
        var inflated = ByteQueue()
        plain.append(message)
        do {
            try unsafe deflater.compress(UnsafeRawBufferPointer(plain.readable), isLast: true, into: &compressed)
            try unsafe inflater.inflate(UnsafeRawBufferPointer(compressed.readable), isLast: true, limit: message.count, into: &inflated)
        } catch {
            preconditionFailure("what was compressed here is inflated here")
        }
        precondition(unsafe inflated.readable.elementsEqual(message), "inflate∘deflate is the identity")
    }
}

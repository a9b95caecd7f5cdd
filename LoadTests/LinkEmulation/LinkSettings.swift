/// What one direction of a link is like.
package struct LinkSettings: Equatable, Sendable {
    /// Bits a second, IP headers included, that leave the queue; 0: as fast as they come.
    package var bitsPerSecond = 0.0
    /// From the last bit that leaves the queue to the packet's arrival.
    package var delayNanoseconds: UInt64 = 0
    /// Added to the delay, evenly spread from 0 to this. A link keeps order all the same, so a packet never arrives before the one ahead of it.
    package var jitterNanoseconds: UInt64 = 0
    /// The share of packets, 0 to 1, that get lost, each by itself.
    package var lossShare = 0.0
    /// Bytes that may wait to be sent; a packet that finds no room is dropped. What travels already does not count.
    package var queueBytesMax = 256 << 10
    /// Nothing leaves and nothing arrives; the queue fills.
    package var isStalled = false

    package init() {}
}

/// One change of a direction's settings.
package enum LinkChange: Equatable, Sendable {
    case bitsPerSecond(Double)
    case delayNanoseconds(UInt64)
    case jitterNanoseconds(UInt64)
    case lossShare(Double)
    case queueBytesMax(Int)
    case stall(Bool)

    package func apply(to settings: inout LinkSettings) {
        switch self {
        case .bitsPerSecond(let value): settings.bitsPerSecond = value
        case .delayNanoseconds(let value): settings.delayNanoseconds = value
        case .jitterNanoseconds(let value): settings.jitterNanoseconds = value
        case .lossShare(let value): settings.lossShare = value
        case .queueBytesMax(let value): settings.queueBytesMax = value
        case .stall(let value): settings.isStalled = value
        }
    }
}

/// A text that says nothing about a link.
package struct LinkSyntaxFault: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

extension LinkChange {
    /// The keys of the command line: kbit/s, milliseconds, percent, bytes, 0 or 1.
    package enum Key: String, CaseIterable, Sendable {
        case rate
        case delay
        case jitter
        case loss
        case queue
        case stall
    }

    /// A day, and more than any link: bounds that keep every later computation within its numbers.
    private static let millisecondsMax = 86_400_000.0
    private static let kilobitsMax = 1e9
    private static let queueBytesMax = 1e9

    package init(_ key: Key, _ text: some StringProtocol) throws(LinkSyntaxFault) {
        guard let value = Double(text), value.isFinite, value >= 0 else { throw LinkSyntaxFault("\(key)=\(text): a number from 0 up") }
        switch key {
        case .rate:
            guard value <= Self.kilobitsMax else { throw LinkSyntaxFault("rate: kbit/s, at most 1e9") }
            self = .bitsPerSecond(value * 1_000)
        case .delay: self = .delayNanoseconds(try Self.nanoseconds(key, value))
        case .jitter: self = .jitterNanoseconds(try Self.nanoseconds(key, value))
        case .loss:
            guard value <= 100 else { throw LinkSyntaxFault("loss: percent, at most 100") }
            self = .lossShare(value / 100)
        case .queue:
            guard value <= Self.queueBytesMax else { throw LinkSyntaxFault("queue: bytes, at most 1e9") }
            self = .queueBytesMax(Int(value))
        case .stall: self = .stall(value != 0)
        }
    }

    private static func nanoseconds(_ key: Key, _ milliseconds: Double) throws(LinkSyntaxFault) -> UInt64 {
        guard milliseconds <= millisecondsMax else { throw LinkSyntaxFault("\(key): milliseconds, at most a day") }
        return UInt64(milliseconds * 1e6)
    }
}

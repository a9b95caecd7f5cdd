/// How to reach NATS.
package struct NATSSettings: Sendable {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`.
    package var servers: [String]
    /// PEM files: whom to trust, and by what this client is known. Without the first, certificates are not used at all.
    package var trustedCertificates: String?
    package var certificate: String?
    package var privateKey: String?
    /// Shown by the server.
    package var name: String
    package var reconnectMilliseconds: Int64 = 250
    package var pingMilliseconds: Int64 = 2_000
    /// For one answer of JetStream.
    package var answerMillisecondsMax: Int64 = 2_000

    package init(servers: [String], name: String) {
        self.servers = servers
        self.name = name
    }
}

/// A JetStream key-value bucket, made where there is none: one value a key.
package struct KeyValueBucket: Sendable, Hashable {
    package let name: String
    /// What is not written again is gone after that; 0: it stays.
    package let ttlMilliseconds: Int64
    /// Requests of such buckets never make others' wait.
    package let isBulk: Bool

    package init(name: String, ttlMilliseconds: Int64, isBulk: Bool = false) {
        self.name = name
        self.ttlMilliseconds = ttlMilliseconds
        self.isBulk = isBulk
    }
}

/// A key of any bytes: NATS allows letters, digits and `-_=./` only, so it is written in hexadecimal.
package struct KeyValueKey: Sendable, Hashable {
    package let text: String

    package init(encoding bytes: some Sequence<UInt8>) {
        let digits = Array("0123456789abcdef".utf8)
        text = String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    package init(text: String) { self.text = text }

    /// `nil`: somebody else's key.
    package var bytes: [UInt8]? {
        let digits = text.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        for place in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[place], let low = digits[place + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}

package enum KeyValueFault: Error, Sendable, Equatable {
    /// `create`: there is one.
    case exists
    /// It is not of that revision any more.
    case conflict
    case missing
    case notConnected
    /// No answer in time: whether it was done is not known.
    case timedOut
    /// More requests wait than may.
    case full
    /// What NATS says.
    case failed(String)
}

package struct KeyValueAnswer: Sendable, Equatable {
    package let revision: UInt64
    package let value: [UInt8]?
}

package struct KeyValueChange: Sendable, Equatable {
    package let bucket: String
    package let key: KeyValueKey
    package let revision: UInt64
    /// `nil`: deleted. What only got too old is not told.
    package let value: [UInt8]?
}

package enum NATSEvent: Sendable {
    /// For the first time, and again after each loss.
    case connected(server: String)
    case disconnected(reason: String)
    case message(subject: String, payload: [UInt8])
    /// Nobody listens on the subject that this is the reply subject of.
    case nobody(reply: String)
    /// More came than was taken: so many messages were dropped.
    case overflowed(count: Int)
    case keyValue(KeyValueChange)
    /// A watch has told all that is there, anew after each reconnection: what a reader knows beyond that is gone.
    case watching(bucket: String)
    case answered(request: UInt64, Result<KeyValueAnswer, KeyValueFault>)
}

package enum PublishResult: Sendable, Equatable {
    case sent
    case notConnected
    /// More waits for the network than may.
    case full
    /// More than the server takes in one message.
    case tooLarge
}

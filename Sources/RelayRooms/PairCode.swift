import RelayBase

/// A one-time code: eight characters that a person reads off one device and types on another.
///
/// No two characters of the alphabet look alike: of 0/O, 1/I/L and U/V there is none, of 2/Z, 5/S and 8/B only the digit, for which the letter is taken when
/// somebody types it. The 26 characters give 2^37.6 codes.
package struct PairCode: Hashable, Sendable {
    package static let length = 8
    package static let alphabet = Array("23456789ACDEFGHJKMNPQRTWXY".utf8)

    /// The characters, most significant first: a code is compared as one number.
    let word: UInt64

    /// As somebody types it: in any case, with spaces and hyphens wherever they like.
    package init?(entered text: String) {
        var word: UInt64 = 0
        var count = 0
        for byte in text.utf8 where byte != UInt8(ascii: " ") && byte != UInt8(ascii: "-") {
            let upper = PairCode.meant(byte)
            guard count < PairCode.length, PairCode.alphabet.contains(upper) else { return nil }
            word = word << 8 | UInt64(upper)
            count += 1
        }
        guard count == PairCode.length else { return nil }
        self.word = word
    }

    private static func meant(_ byte: UInt8) -> UInt8 {
        switch byte {
        case UInt8(ascii: "z"), UInt8(ascii: "Z"): UInt8(ascii: "2")
        case UInt8(ascii: "s"), UInt8(ascii: "S"): UInt8(ascii: "5")
        case UInt8(ascii: "b"), UInt8(ascii: "B"): UInt8(ascii: "8")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): byte & 0xDF
        default: byte
        }
    }

    /// - Parameter generator: one whose output nobody can guess.
    init(using generator: inout some RandomNumberGenerator) {
        var word: UInt64 = 0
        for _ in 0..<PairCode.length {
            word = word << 8 | UInt64(PairCode.alphabet[Int.random(in: 0..<PairCode.alphabet.count, using: &generator)])
        }
        self.word = word
    }

    package var text: String {
        let bytes = (0..<PairCode.length).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * (PairCode.length - 1 - $0))) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

/// The codes that are open. Each belongs to the session that shows it, and goes with it.
struct PairCodeBook: Sendable {
    struct Entry: Sendable {
        let code: PairCode
        let owner: MemberAddress
        let principal: Principal
        let expires: MonotonicInstant
    }

    private(set) var entries: [Entry] = []

    /// Opens a code in place of the one that the session has.
    mutating func open(
        for owner: MemberAddress, _ principal: Principal, limits: PairLimits, now: MonotonicInstant, using generator: inout some RandomNumberGenerator
    ) throws(PairRefusal) -> PairCode {
        close(for: owner)
        expire(now: now)
        guard entries.count < limits.codesMax, entries.count(where: { $0.principal.name == principal.name }) < limits.codesPerIdentityMax else {
            throw .pairsMax
        }
        var code = PairCode(using: &generator)
        while place(of: code) != nil { code = PairCode(using: &generator) }
        entries.append(Entry(code: code, owner: owner, principal: principal, expires: now.advanced(byMilliseconds: limits.openMilliseconds)))
        return code
    }

    /// The place of an open code. Every open code is looked at, whatever was entered, and without a branch: how long it takes tells how many are open and nothing
    /// about them. A table by code would tell more, and a digest of 37 bits of secret would hide nothing from whoever could read it.
    private func place(of code: PairCode) -> Int? {
        var found: UInt64 = 0
        for place in entries.indices {
            let difference = entries[place].code.word ^ code.word
            let isEqual = ((difference | (0 &- difference)) >> 63) ^ 1
            found |= (0 &- isEqual) & UInt64(place + 1)
        }
        return found == 0 ? nil : Int(found) - 1
    }

    func find(_ code: PairCode, now: MonotonicInstant) -> Entry? {
        guard let place = place(of: code), entries[place].expires > now else { return nil }
        return entries[place]
    }

    mutating func close(for owner: MemberAddress) {
        entries.removeAll { $0.owner == owner }
    }

    mutating func expire(now: MonotonicInstant) {
        entries.removeAll { $0.expires <= now }
    }
}

/// What is valid in a policy and surely not what its operator meant: patterns that match nobody, rules that never decide.
package struct PolicyDoubt: Hashable, Sendable {
    /// Where in the file, such as `access[2].identities[0]`.
    package let path: String
    package let message: String
}

extension AccessPolicy {
    /// All doubts, in the file's order.
    package var doubts: [PolicyDoubt] {
        var finder = DoubtFinder()
        finder.identities(admins, "admins")
        for (place, pattern) in admins.enumerated() {
            if pattern.kind == .token {
                finder.doubt("admins[\(place)]", "never applies: administrators prove themselves by certificate, not by token")
            }
            if pattern.kind == nil { finder.doubt("admins[\(place)]", "makes everybody with a certificate an administrator") }
        }
        for (place, rule) in access.enumerated() {
            finder.identities(rule.identities, "access[\(place)].identities")
            finder.rooms(rule.rooms, "access[\(place)].rooms")
        }
        finder.unreached(access.map { ($0.identities, $0.rooms) }, "access")
        for (place, rule) in rooms.enumerated() { finder.rooms(rule.rooms, "rooms[\(place)].rooms") }
        finder.unreached(rooms.map { ([], $0.rooms) }, "rooms")
        for (place, rule) in pairs.enumerated() {
            finder.identities(rule.a, "pairing.pairs[\(place)].a")
            finder.identities(rule.b, "pairing.pairs[\(place)].b")
        }
        for (place, rule) in pairRequests.enumerated() {
            finder.identities(rule.a, "pairing.requests[\(place)].from")
            finder.identities(rule.b, "pairing.requests[\(place)].to")
        }
        finder.identities(pairCodes, "pairing.codes")
        return finder.doubts
    }
}

private struct DoubtFinder {
    private(set) var doubts: [PolicyDoubt] = []
    /// Comparisons of patterns: a policy of ten thousand rules is not looked through to the end.
    private var comparisonsLeft = 5_000_000

    private static let fingerprintDigits = 64

    mutating func doubt(_ path: String, _ message: String) {
        doubts.append(PolicyDoubt(path: path, message: message))
    }

    mutating func identities(_ patterns: [IdentityPattern], _ path: String) {
        for (place, pattern) in patterns.enumerated() {
            switch pattern.kind {
            case .key where !Self.canBeFingerprint(pattern.text.dropFirst(PrincipalName.Kind.keyPrefix.utf8.count)):
                doubt(
                    "\(path)[\(place)]", "'\(pattern.text)' matches no key: a fingerprint is \(Self.fingerprintDigits) lower-case hexadecimal digits")
            case .dns where !pattern.text.utf8.contains(UInt8(ascii: ".")):
                doubt(
                    "\(path)[\(place)]", "'\(pattern.text)' matches DNS names only; with a colon it would match URIs, such as urn:segue:client:NAME")
            default: break
            }
        }
    }

    private static func canBeFingerprint(_ text: Substring) -> Bool {
        let star = UInt8(ascii: "*")
        let isHexadecimal = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), star: true
            default: false
            }
        }
        let digits = text.utf8.count { $0 != star }
        return isHexadecimal && (digits == fingerprintDigits || digits < fingerprintDigits && text.utf8.contains(star))
    }

    mutating func rooms(_ patterns: [RoomPattern], _ path: String) {
        for (place, pattern) in patterns.enumerated() where pattern.text.hasPrefix(RoomName.pairPrefix) {
            doubt("\(path)[\(place)]", "'\(pattern.text)' never applies: pairs' rooms are their two keys' own")
        }
    }

    /// Of the rules that match, the first decides: one behind a rule that matches all that it does never does.
    ///
    /// - Parameter rules: with no identities where the rules have none.
    mutating func unreached(_ rules: [(identities: [IdentityPattern], rooms: [RoomPattern])], _ path: String) {
        for (place, rule) in rules.enumerated() {
            for (earlier, wide) in rules[..<place].enumerated() {
                guard covers(wide.rooms, rule.rooms, { $0.covers($1) }), covers(wide.identities, rule.identities, { $0.covers($1) }) else { continue }
                doubt("\(path)[\(place)]", "is never reached: \(path)[\(earlier)] matches all that it matches, and comes first")
                break
            }
            if comparisonsLeft <= 0 {
                doubt(path, "has too many rules to tell which are never reached; those behind \(path)[\(place)] were not looked at")
                return
            }
        }
    }

    private mutating func covers<Pattern>(_ wide: [Pattern], _ narrow: [Pattern], _ test: (Pattern, Pattern) -> Bool) -> Bool {
        for pattern in narrow {
            var isCovered = false
            for candidate in wide where !isCovered {
                comparisonsLeft -= 1
                isCovered = test(candidate, pattern)
            }
            if !isCovered { return false }
        }
        return true
    }
}

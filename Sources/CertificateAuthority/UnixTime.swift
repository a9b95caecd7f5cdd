internal import Glibc

/// A moment of civil time in whole seconds since 1970-01-01T00:00:00Z, as certificates know it: never before that, never after
/// 9999-12-31T23:59:59Z (the last moment that RFC 5280 §4.1.2.5 can write). Arithmetic stops at these ends.
///
/// It is apart from the relay's monotonic clock on purpose: only certificates need to know the date.
package struct UnixTime: Hashable, Comparable, Sendable {
    package static let secondsMax: Int64 = 253_402_300_799

    package let seconds: Int64

    /// - Parameter seconds: taken to the nearer end when it lies outside of what a certificate can say.
    package init(seconds: Int64) {
        self.seconds = min(max(seconds, 0), Self.secondsMax)
    }

    /// Reads the machine's civil clock.
    package static func current() -> UnixTime {
        var time = timespec()
        let result = unsafe clock_gettime(CLOCK_REALTIME, &time)
        precondition(result == 0, "CLOCK_REALTIME always exists")
        return UnixTime(seconds: Int64(time.tv_sec))
    }

    package static func < (left: UnixTime, right: UnixTime) -> Bool { left.seconds < right.seconds }

    package static func + (time: UnixTime, duration: Duration) -> UnixTime {
        let (sum, overflow) = time.seconds.addingReportingOverflow(duration.components.seconds)
        return UnixTime(seconds: overflow ? (duration < .zero ? 0 : secondsMax) : sum)
    }

    package static func - (time: UnixTime, duration: Duration) -> UnixTime {
        let (difference, overflow) = time.seconds.subtractingReportingOverflow(duration.components.seconds)
        return UnixTime(seconds: overflow ? (duration < .zero ? secondsMax : 0) : difference)
    }
}

extension UnixTime: CustomStringConvertible {
    /// RFC 3339 in UTC to the second: `2026-11-30T06:51:43Z`.
    package var description: String {
        let date = Self.civilDate(day: seconds / 86_400)
        let second = seconds % 86_400
        let parts = [(date.year, 4), (date.month, 2), (date.day, 2), (second / 3_600, 2), (second / 60 % 60, 2), (second % 60, 2)]
        var text = ""
        for (index, part) in parts.enumerated() {
            let digits = String(part.0)
            text += String(repeating: "0", count: part.1 - digits.utf8.count) + digits + ["-", "-", "T", ":", ":", "Z"][index]
        }
        return text
    }

    /// Reads exactly the shape that ``description`` writes; `nil` for anything else, an impossible date included.
    package init?(_ text: String) {
        let bytes = Array(text.utf8.prefix(21))
        guard bytes.count == 20 else { return nil }
        var fields: [Int64] = []
        var index = 0
        for (width, separator) in [(4, "-"), (2, "-"), (2, "T"), (2, ":"), (2, ":"), (2, "Z")] as [(Int, Unicode.Scalar)] {
            var value: Int64 = 0
            for byte in bytes[index..<index + width] {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            guard bytes[index + width] == UInt8(ascii: separator) else { return nil }
            fields.append(value)
            index += width + 1
        }
        let day = Self.day(year: fields[0], month: fields[1], day: fields[2])
        let seconds = day * 86_400 + fields[3] * 3_600 + fields[4] * 60 + fields[5]
        guard (0...Self.secondsMax).contains(seconds) else { return nil }
        self.init(seconds: seconds)
        // A 31st of June or a 61st second would come back as another text.
        guard description == text else { return nil }
    }

    /// Days since 1970-01-01 of a date in the proleptic Gregorian calendar, whose years begin in March so that the leap day comes last.
    private static func day(year: Int64, month: Int64, day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civilDate(day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch + (monthFromMarch < 10 ? 3 : -9)
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

extension Duration {
    /// Days of 86,400 seconds, as certificate lifetimes are counted.
    package static func days(_ days: Int) -> Duration { .seconds(86_400) * days }
}

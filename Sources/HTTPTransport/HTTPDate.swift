/// The date format of HTTP header fields, IMF-fixdate (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, always 29 characters.
package enum HTTPDate {
    private static let dayNames: [String] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let monthNames: [String] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// The seconds that four digits of year can name: 0000-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
    package static let secondsRange: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    /// - Parameter unixSeconds: seconds since 1970-01-01T00:00:00Z; outside of ``secondsRange`` the nearer end of it stands in.
    package static func string(unixSeconds: Int64) -> String {
        let seconds = min(max(unixSeconds, secondsRange.lowerBound), secondsRange.upperBound)
        let secondOfDay = Int(((seconds % 86_400) + 86_400) % 86_400)
        let day = Int((seconds - Int64(secondOfDay)) / 86_400)
        let date = civil(day: day)
        let dayName = dayNames[((day % 7) + 7) % 7]
        let time = "\(digits(secondOfDay / 3_600)):\(digits(secondOfDay / 60 % 60)):\(digits(secondOfDay % 60))"
        return "\(dayName), \(digits(date.day)) \(monthNames[date.month - 1]) \(digits(date.year / 100))\(digits(date.year % 100)) \(time) GMT"
    }

    private static func digits(_ value: Int) -> String {
        value < 10 ? "0\(value)" : "\(value)"
    }

    /// The Gregorian date of a day counted from 1970-01-01. Years are counted from March, so that the leap day is a year's last; an era is the 400
    /// years (146,097 days) after which the calendar repeats.
    private static func civil(day: Int) -> (year: Int, month: Int, day: Int) {
        let sinceMarch0 = day + 719_468
        let era = (sinceMarch0 >= 0 ? sinceMarch0 : sinceMarch0 - 146_096) / 146_097
        let dayOfEra = sinceMarch0 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }
}

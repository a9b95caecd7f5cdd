import HTTPTransport
import Testing

@Suite struct HTTPDateTests {
    @Test(
        "RFC 9110 §5.6.7 IMF-fixdate",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (2_147_483_648, "Tue, 19 Jan 2038 03:14:08 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (253_402_300_800, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-62_167_219_200, "Sat, 01 Jan 0000 00:00:00 GMT"),
            (Int64.min, "Sat, 01 Jan 0000 00:00:00 GMT"),
        ] as [(Int64, String)])
    func vectors(seconds: Int64, text: String) {
        #expect(HTTPDate.string(unixSeconds: seconds) == text)
    }

    @Test("every day of 1900 to 2110 follows the one before")
    func everyDay() {
        let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        var day: Int64 = -25_567
        var wrong = 0
        for year in 1_900..<2_110 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for (month, length) in [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].enumerated() {
                for date in 1...length {
                    let weekday = days[Int(((day % 7) + 7) % 7)]
                    let text = "\(weekday), \(date < 10 ? "0" : "")\(date) \(months[month]) \(year) 00:00:00 GMT"
                    if HTTPDate.string(unixSeconds: day * 86_400) != text { wrong += 1 }
                    day += 1
                }
            }
        }
        #expect(wrong == 0)
    }
}

/// How a client wants a response to be scheduled: the Priority field value (RFC 9218 §4), as PRIORITY_UPDATE carries it.
package struct HTTP2Priority: Hashable, Sendable {
    /// 0 first to 7 last.
    package var urgency: UInt8 = 3
    /// Whether parts of the response are of use, so that it can take turns with others.
    package var isIncremental = false

    package init() {}

    /// Reads the members `u` and `i` of the dictionary (RFC 8941 §3.2); others, and values out of range, are passed over as RFC 9218 §4 asks.
    package init(fieldValue: Span<UInt8>) {
        var start = 0
        while start < fieldValue.count {
            var end = start
            var isQuoted = false
            while end < fieldValue.count, isQuoted || fieldValue[end] != UInt8(ascii: ",") {
                if fieldValue[end] == UInt8(ascii: "\"") { isQuoted.toggle() }
                end += 1
            }
            takeMember(fieldValue.extracting(start..<end))
            start = end + 1
        }
    }

    /// One member: `u=<digit>`, `i`, `i=?1` or `i=?0`, between optional spaces; parameters after `;` mean nothing here.
    private mutating func takeMember(_ member: Span<UInt8>) {
        var text: [UInt8] = []
        for index in 0..<member.count {
            let byte = member[index]
            if byte == UInt8(ascii: ";") || text.count > 4 { break }
            if byte != UInt8(ascii: " "), byte != UInt8(ascii: "\t") { text.append(byte) }
        }
        switch text.count {
        case 1 where text[0] == UInt8(ascii: "i"):
            isIncremental = true
        case 3 where text[0] == UInt8(ascii: "u") && text[1] == UInt8(ascii: "=") && (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(text[2]):
            urgency = text[2] - UInt8(ascii: "0")
        case 4 where text[0] == UInt8(ascii: "i") && text[1] == UInt8(ascii: "=") && text[2] == UInt8(ascii: "?"):
            if text[3] == UInt8(ascii: "1") { isIncremental = true }
            if text[3] == UInt8(ascii: "0") { isIncremental = false }
        default:
            break
        }
    }
}

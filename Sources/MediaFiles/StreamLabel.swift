internal import MediaProtocol

/// The line of JSON at the head of a frame log, and file names made of what peers are called.
enum StreamLabel {
    static func json(participant: String, stream: StreamID, description: StreamDescription, configuration: [UInt8]) -> String {
        var fields = ["\"participant\":\(quoted(participant))", "\"stream\":\(stream.rawValue)"]
        switch description {
        case .audio(let audio):
            fields += [
                "\"kind\":\"audio\"", "\"codec\":\(quoted(audio.codec.name))", "\"sampleRate\":\(audio.sampleRate)", "\"channels\":\(audio.channels)",
                "\"frameMicroseconds\":\(audio.frameMicroseconds)",
            ]
        case .video(let video):
            let rate = video.frameRate.isFinite ? video.frameRate : 0
            fields += [
                "\"kind\":\"video\"", "\"codec\":\(quoted(video.codecString))", "\"width\":\(video.width)", "\"height\":\(video.height)",
                "\"frameRate\":\(rate)",
            ]
        case .data: fields.append("\"kind\":\"data\"")
        }
        fields.append("\"timescale\":\(description.timescale.ticksPerSecond)")
        fields.append("\"configuration\":\"\(CodecParameters.hexadecimal(configuration))\"")
        return "{" + fields.joined(separator: ",") + "}"
    }

    /// A JSON string (RFC 8259 §7).
    static func quoted(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\u{0}"..<"\u{20}":
                let digits = String(scalar.value, radix: 16)
                result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A file name of a peer's name: letters, digits, `.`, `-` and `_` stay, anything else is `_`; never hidden, never empty, at most 64 characters.
    static func fileName(_ name: String) -> String {
        var result = ""
        for scalar in name.unicodeScalars.prefix(64) {
            switch scalar {
            case "a"..."z", "A"..."Z", "0"..."9", "-", "_": result.unicodeScalars.append(scalar)
            case "." where !result.isEmpty: result.unicodeScalars.append(scalar)
            default: result += "_"
            }
        }
        return result.isEmpty ? "_" : result
    }
}

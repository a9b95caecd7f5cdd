/// The nine bytes before each frame's payload (RFC 9113 §4.1), and the pad length of a padded DATA frame.
package struct HTTP2FrameHeader: Hashable, Sendable {
    package enum FrameType {
        package static let data: UInt8 = 0x0
        package static let headers: UInt8 = 0x1
        package static let priority: UInt8 = 0x2
        package static let rstStream: UInt8 = 0x3
        package static let settings: UInt8 = 0x4
        package static let pushPromise: UInt8 = 0x5
        package static let ping: UInt8 = 0x6
        package static let goAway: UInt8 = 0x7
        package static let windowUpdate: UInt8 = 0x8
        package static let continuation: UInt8 = 0x9
        /// RFC 9218 §7.1.
        package static let priorityUpdate: UInt8 = 0x10
    }

    package enum Flag {
        package static let endStream: UInt8 = 0x1
        package static let acknowledgement: UInt8 = 0x1
        package static let endHeaders: UInt8 = 0x4
        package static let padded: UInt8 = 0x8
        package static let priority: UInt8 = 0x20
    }

    /// Bytes of payload, 24 bits.
    package var length: UInt32
    package var type: UInt8
    package var flags: UInt8
    package var streamID: UInt32
    /// The Pad Length field of a padded DATA frame (RFC 9113 §6.1), else `nil`.
    package var padLength: UInt8?

    package init(length: UInt32, type: UInt8, flags: UInt8, streamID: UInt32, padLength: UInt8? = nil) {
        self.length = length
        self.type = type
        self.flags = flags
        self.streamID = streamID
        self.padLength = padLength
    }

    package func has(_ flag: UInt8) -> Bool { flags & flag != 0 }

    /// Whether a DATA frame carries no application bytes at all.
    var isEmptyData: Bool {
        guard let padLength else { return length == 0 }
        return UInt32(padLength) + 1 >= length
    }
}

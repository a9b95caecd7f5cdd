/// How NAL units lie in a payload.
package enum NALFraming: Hashable, Sendable {
    /// Behind start codes of 3 or 4 bytes (ITU-T H.264 Annex B, H.265 Annex B).
    case annexB
    /// Behind a big-endian length of 1, 2 or 4 bytes (ISO/IEC 14496-15).
    case lengthPrefixed(Int)
}

/// What a payload of H.264 or HEVC says on its face: parameter sets, and the type of its first slice.
package struct NALSummary: Hashable, Sendable {
    package var framing: NALFraming
    package var hasVideoParameterSet = false
    package var hasSequenceParameterSet = false
    package var hasPictureParameterSet = false
    /// The picture is an entry point: IDR in H.264; IDR, CRA or BLA in HEVC.
    package var isKeyFrame = false
    /// No other picture refers to this one (H.264 nal_ref_idc 0).
    package var isDiscardable = false
    /// Where the first slice starts, start code or length included; `nil` when there is none. Parameter sets come before it.
    package var firstSliceOffset: Int?

    /// Bytes looked at for start codes, and NAL units walked: parameter sets and SEI come first, so the first slice is near.
    static let scannedBytesMax = 64 << 10
    static let scannedUnitsMax = 1_024

    /// - Parameters:
    ///   - codec: answers `nil` for anything but `.h264` and `.hevc`.
    ///   - framing: how the units are framed; `nil` finds out.
    /// - Returns: `nil` when the payload does not start with a NAL unit so framed.
    package init?(codec: VideoCodec, payload: RawSpan, framing: NALFraming? = nil) {
        guard codec == .h264 || codec == .hevc, let framing = framing ?? NALUnitWalk.findFraming(payload) else { return nil }
        self.framing = framing
        var walk = NALUnitWalk(payload: payload, framing: framing)
        var units = 0
        while units < Self.scannedUnitsMax, firstSliceOffset == nil, let unit = walk.next() {
            units += 1
            guard !unit.content.isEmpty else { continue }
            let head = payload.byte(at: unit.content.lowerBound)
            // The forbidden_zero_bit marks a damaged unit.
            guard head & 0x80 == 0 else { continue }
            if codec == .h264 { noteH264(head, unit) } else { noteHEVC(head, unit) }
        }
        guard units > 0 else { return nil }
    }

    /// ITU-T H.264 table 7-1.
    private mutating func noteH264(_ head: UInt8, _ unit: NALUnitWalk.Unit) {
        switch head & 0x1F {
        case 1...5:
            firstSliceOffset = unit.start
            isKeyFrame = head & 0x1F == 5
            isDiscardable = head & 0x60 == 0
        case 7: hasSequenceParameterSet = true
        case 8: hasPictureParameterSet = true
        default: break
        }
    }

    /// ITU-T H.265 table 7-1.
    private mutating func noteHEVC(_ head: UInt8, _ unit: NALUnitWalk.Unit) {
        let type = head >> 1 & 0x3F
        switch type {
        case 0...31:
            firstSliceOffset = unit.start
            isKeyFrame = (16...21).contains(type)
        case 32: hasVideoParameterSet = true
        case 33: hasSequenceParameterSet = true
        case 34: hasPictureParameterSet = true
        default: break
        }
    }
}

/// Steps from NAL unit to NAL unit without looking inside.
struct NALUnitWalk: ~Escapable {
    struct Unit {
        /// Where the start code or the length starts.
        var start: Int
        /// The unit; in Annex B it may reach to the end of the payload, since only its head matters here.
        var content: Range<Int>
    }

    private let payload: RawSpan
    private let framing: NALFraming
    private var offset = 0

    @_lifetime(copy payload)
    init(payload: RawSpan, framing: NALFraming) {
        self.payload = payload
        self.framing = framing
    }

    mutating func next() -> Unit? {
        switch framing {
        case .annexB: nextAnnexB()
        case .lengthPrefixed(let size): nextLengthPrefixed(size)
        }
    }

    private mutating func nextAnnexB() -> Unit? {
        let end = min(payload.byteCount, NALSummary.scannedBytesMax)
        var index = offset
        while index + 3 <= end {
            let third = payload.byte(at: index + 2)
            if third == 1, payload.byte(at: index) == 0, payload.byte(at: index + 1) == 0 {
                let start = index > offset && payload.byte(at: index - 1) == 0 ? index - 1 : index
                offset = index + 3
                return Unit(start: start, content: offset..<payload.byteCount)
            }
            // A third byte above 1 cannot be part of a start code that begins before it.
            index += third > 1 ? 3 : 1
        }
        offset = payload.byteCount
        return nil
    }

    private mutating func nextLengthPrefixed(_ size: Int) -> Unit? {
        let start = offset
        guard start < payload.byteCount, size <= payload.byteCount - start else { return nil }
        offset = payload.byteCount
        let length =
            switch size {
            case 1: Int(payload.byte(at: start))
            case 2: Int(payload.uint16(at: start))
            case 4: Int(payload.uint32(at: start))
            default: Int.max
            }
        guard length <= payload.byteCount - start - size else { return nil }
        offset = start + size + length
        return Unit(start: start, content: start + size..<offset)
    }

    /// Length prefixes whose chain ends exactly with the payload win, since a start code read as a length points far outside; then a leading start code.
    static func findFraming(_ payload: RawSpan) -> NALFraming? {
        for size in [4, 2, 1] where fits(payload, size) { return .lengthPrefixed(size) }
        guard payload.byteCount >= 4 else { return nil }
        let head = payload.uint32(at: 0)
        return head == 1 || head >> 8 == 1 ? .annexB : nil
    }

    /// Whether lengths of `size` bytes lead from unit to unit, none empty or damaged, to the very end (or to the bound on units).
    private static func fits(_ payload: RawSpan, _ size: Int) -> Bool {
        var walk = NALUnitWalk(payload: payload, framing: .lengthPrefixed(size))
        for _ in 0..<NALSummary.scannedUnitsMax {
            guard let unit = walk.next(), !unit.content.isEmpty, payload.byte(at: unit.content.lowerBound) & 0x80 == 0 else { return false }
            if unit.content.upperBound == payload.byteCount { return true }
        }
        return true
    }
}

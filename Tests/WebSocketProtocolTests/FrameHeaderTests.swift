import RelayBase
import Testing
import WebSocketProtocol

@Suite struct FrameHeaderTests {
    private func decode(
        _ bytes: [UInt8], _ role: WebSocketRole = .client, compression: Bool = false
    ) throws(WebSocketFault) -> WebSocketFrameHeader? {
        try unsafe bytes.span.bytes.withUnsafeBytes { (raw: UnsafeRawBufferPointer) throws(WebSocketFault) in
            unsafe try WebSocketFrameHeader.decode(raw, rules: .init(role: role, allowsCompression: compression))
        }
    }

    private func encode(_ header: WebSocketFrameHeader) -> [UInt8] {
        var bytes = [UInt8](repeating: 0xEE, count: WebSocketFrameHeader.bytesMax)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe header.encode(into: $0) }
        #expect(bytes[count...].allSatisfy { $0 == 0xEE })
        return Array(bytes[..<count])
    }

    @Test("§5.7 header examples decode and encode")
    func examples() throws {
        let table: [(bytes: [UInt8], role: WebSocketRole, header: WebSocketFrameHeader)] = [
            ([0x81, 0x05], .client, .init(opcode: .text, payloadLength: 5)),
            ([0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D], .server, .init(opcode: .text, payloadLength: 5, maskingKey: .init(0x37FA_213D))),
            ([0x01, 0x03], .client, .init(opcode: .text, payloadLength: 3, isFinal: false)),
            ([0x80, 0x02], .client, .init(opcode: .continuation, payloadLength: 2)),
            ([0x89, 0x05], .client, .init(opcode: .ping, payloadLength: 5)),
            ([0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D], .server, .init(opcode: .pong, payloadLength: 5, maskingKey: .init(0x37FA_213D))),
            ([0x82, 0x7E, 0x01, 0x00], .client, .init(opcode: .binary, payloadLength: 256)),
            ([0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0], .client, .init(opcode: .binary, payloadLength: 65_536)),
        ]
        for row in table {
            #expect(try decode(row.bytes, row.role) == row.header)
            #expect(encode(row.header) == row.bytes)
        }
    }

    @Test("§5.2 decode∘encode is the identity at every length's edge, and every shorter prefix is incomplete")
    func roundTrip() throws {
        let lengths: [UInt64] = [0, 1, 125, 126, 127, 255, 256, 65_535, 65_536, 1 << 32, UInt64(Int64.max)]
        for opcode in WebSocketOpcode.allCases {
            for length in lengths where !opcode.isControl || length <= 125 {
                for role in [WebSocketRole.server, .client] {
                    for isFinal in opcode.isControl ? [true] : [true, false] {
                        let header = WebSocketFrameHeader(
                            opcode: opcode, payloadLength: length, isFinal: isFinal, rsv1: opcode == .text,
                            maskingKey: role.receivesMaskedFrames ? .init(0x0102_0304) : nil)
                        let bytes = encode(header)
                        #expect(bytes.count == header.encodedLength)
                        #expect(try decode(bytes + [0x55], role, compression: true) == header)
                        for count in 0..<bytes.count { #expect(try decode(Array(bytes[..<count]), role, compression: true) == nil) }
                    }
                }
            }
        }
    }

    @Test(
        "§5.2 a length not in its shortest form closes 1002",
        arguments: [
            [0x82, 126, 0, 125], [0x82, 126, 0, 0], [0x82, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [0x82, 127, 0, 0, 0, 0, 0, 0, 0, 1],
        ] as [[UInt8]])
    func minimalLength(bytes: [UInt8]) {
        #expect(throws: WebSocketFault.lengthNotMinimal) { try decode(bytes) }
    }

    @Test("§5.2 a length with the high bit set closes 1002")
    func highBit() {
        #expect(throws: WebSocketFault.lengthHighBit) { try decode([0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0]) }
        #expect(throws: WebSocketFault.lengthHighBit) { try decode([0x82, 127] + [UInt8](repeating: 0xFF, count: 8)) }
    }

    @Test("§5.2 reserved bits close 1002 whatever the opcode, from the first two bytes", arguments: [0x10, 0x20, 0x30, 0x40, 0x50, 0x70] as [UInt8])
    func reservedBits(bits: UInt8) {
        for opcode in WebSocketOpcode.allCases {
            #expect(throws: WebSocketFault.reservedBits) { try decode([0x80 | bits | opcode.rawValue, 0]) }
        }
    }

    @Test("RFC 7692 §6.1 RSV1 is for the first frame of a message only, and RSV2 and RSV3 stay reserved")
    func rsv1WithCompression() throws {
        #expect(try decode([0xC1, 0], compression: true)?.rsv1 == true)
        #expect(try decode([0x42, 0], compression: true)?.rsv1 == true)
        for first: UInt8 in [0xC0, 0x40, 0xC8, 0xC9, 0xCA, 0xD1, 0xE2, 0xA1] {
            #expect(throws: WebSocketFault.reservedBits) { try decode([first, 0], compression: true) }
        }
    }

    @Test("§5.2 reserved opcodes close 1002", arguments: [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] as [UInt8])
    func reservedOpcodes(opcode: UInt8) {
        #expect(throws: WebSocketFault.reservedOpcode) { try decode([0x80 | opcode, 0]) }
        #expect(throws: WebSocketFault.reservedOpcode) { try decode([opcode, 0]) }
    }

    @Test("§5.5 a control frame over 125 bytes or in fragments closes 1002", arguments: [8, 9, 10] as [UInt8])
    func controlFrames(opcode: UInt8) {
        #expect(throws: WebSocketFault.controlFrameTooLong) { try decode([0x80 | opcode, 126]) }
        #expect(throws: WebSocketFault.controlFrameTooLong) { try decode([0x80 | opcode, 127]) }
        #expect(throws: WebSocketFault.controlFrameFragmented) { try decode([opcode, 0]) }
    }

    @Test("§5.1 a server refuses unmasked frames, a client masked ones")
    func masking() {
        #expect(throws: WebSocketFault.frameNotMasked) { try decode([0x82, 1], .server) }
        #expect(throws: WebSocketFault.frameMasked) { try decode([0x82, 0x81], .client) }
    }

    @Test("Every fault has a close code that may be sent and a reason that fits")
    func faults() {
        for fault in WebSocketFault.allCases {
            #expect(fault.closeCode.mayBeSent(by: .server), "\(fault)")
            #expect(fault.closeReason.utf8CodeUnitCount <= 123 && fault.closeReason.isASCII, "\(fault)")
        }
    }
}

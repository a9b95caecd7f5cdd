/// The bound that an over-long frame ran into, named as the property of ``/RelayBase/Limits`` that sets it.
package enum FrameSizeLimit: UInt8, Sendable {
    case audioFrameBytesMax
    case videoFrameBytesMax
    case dataFrameBytesMax

    package var name: StaticString {
        switch self {
        case .audioFrameBytesMax: "audioFrameBytesMax"
        case .videoFrameBytesMax: "videoFrameBytesMax"
        case .dataFrameBytesMax: "dataFrameBytesMax"
        }
    }
}

/// What is wrong with a media frame that a peer sent (protocol document, "Media frames").
package enum MediaFault: Error, Equatable, Sendable {
    /// Fewer bytes than one header.
    case headerTruncated
    case versionUnsupported(UInt8)
    case kindUnknown(UInt8)
    /// Flag bit 0x80 is set.
    case reservedFlagSet

    /// The whole frame is longer than its kind may be.
    case frameTooLarge(limit: FrameSizeLimit, byteCount: Int)

    /// The extension block, as its head announces it, does not fit the frame.
    case extensionBlockTruncated
    /// A reserved field or a padding byte of the extension block is not zero.
    case extensionReservedNotZero
    /// An item reaches past the end of the extension block.
    case extensionItemTruncated(type: UInt8)
    /// A known item has a length that its type does not allow.
    case extensionItemLength(type: UInt8, byteCount: Int)
    /// A known item appears twice.
    case extensionItemRepeated(type: UInt8)
    /// More items than 65,535 words can hold (only from ``ExtensionWriter``).
    case extensionBlockTooLarge
    /// An entry of the packet table points outside the payload.
    case packetOutsidePayload(index: Int)

    case bundleEmpty
    /// A bundle's entry reaches past the end of the payload.
    case bundleEntryTruncated
    case bundleNested
    case bundleHoldsConfiguration
    case bundleHoldsPart
    /// A bundle is cut and merged on its way, so only the frames inside it may be encrypted.
    case bundleEncrypted

    /// Fewer bytes than a part's header and fields, or nothing behind them.
    case partTruncated
    /// A part has flags: they are the frame's, which it carries.
    case partFlags
    /// A part reaches past the end of its frame, or the frame holds no header.
    case partOutsideFrame
    /// A part does not go on with its stream's unfinished frame, or another frame of the stream came between (found by ``PartAssembler``).
    case partOutOfOrder
    /// More unfinished frames, or bytes of them, than a receiver keeps (``PartAssembler``).
    case partsTooMany

    /// The WebSocket close code for a peer that sent this (RFC 6455 §7.4.1).
    package var closeCode: UInt16 {
        switch self {
        case .versionUnsupported, .kindUnknown: 1003
        case .frameTooLarge, .partsTooMany: 1009
        case .headerTruncated, .reservedFlagSet, .extensionBlockTruncated, .extensionReservedNotZero, .extensionItemTruncated,
            .extensionItemLength, .extensionItemRepeated, .extensionBlockTooLarge, .packetOutsidePayload, .bundleEmpty, .bundleEntryTruncated,
            .bundleNested, .bundleHoldsConfiguration, .bundleHoldsPart, .bundleEncrypted, .partTruncated, .partFlags, .partOutsideFrame,
            .partOutOfOrder:
            1002
        }
    }

    /// A stable name for counters, logs and the close reason.
    package var name: StaticString {
        switch self {
        case .headerTruncated: "media_header_truncated"
        case .versionUnsupported: "media_version_unsupported"
        case .kindUnknown: "media_kind_unknown"
        case .reservedFlagSet: "media_reserved_flag"
        case .frameTooLarge(let limit, _):
            switch limit {
            case .audioFrameBytesMax: "media_frame_over_audioFrameBytesMax"
            case .videoFrameBytesMax: "media_frame_over_videoFrameBytesMax"
            case .dataFrameBytesMax: "media_frame_over_dataFrameBytesMax"
            }
        case .extensionBlockTruncated: "media_extension_block_truncated"
        case .extensionReservedNotZero: "media_extension_reserved"
        case .extensionItemTruncated: "media_extension_item_truncated"
        case .extensionItemLength: "media_extension_item_length"
        case .extensionItemRepeated: "media_extension_item_repeated"
        case .extensionBlockTooLarge: "media_extension_block_too_large"
        case .packetOutsidePayload: "media_packet_outside_payload"
        case .bundleEmpty: "media_bundle_empty"
        case .bundleEntryTruncated: "media_bundle_entry_truncated"
        case .bundleNested: "media_bundle_nested"
        case .bundleHoldsConfiguration: "media_bundle_configuration"
        case .bundleHoldsPart: "media_bundle_part"
        case .bundleEncrypted: "media_bundle_encrypted"
        case .partTruncated: "media_part_truncated"
        case .partFlags: "media_part_flags"
        case .partOutsideFrame: "media_part_outside_frame"
        case .partOutOfOrder: "media_part_out_of_order"
        case .partsTooMany: "media_parts_too_many"
        }
    }
}

package import RelayRooms

extension StreamKind {
    package var publishKind: PublishKinds {
        switch self {
        case .audio: .audio
        case .video: .video
        case .data: .data
        }
    }
}

extension PublishKinds {
    package init(_ kinds: [StreamKind]) {
        self = kinds.reduce(into: []) { $0.formUnion($1.publishKind) }
    }

    /// In the order of the protocol document.
    package var streamKinds: [StreamKind] {
        [StreamKind.audio, .video, .data].filter { contains($0.publishKind) }
    }
}

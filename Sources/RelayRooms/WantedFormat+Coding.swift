package import RelayBase

/// Between nodes. Here and not where the type is: that is WebAssembly as well, where there is no coding.
extension WantedFormat: Codable {
    private enum CodingKeys: CodingKey {
        case channels
        case bandwidth
    }

    package init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        guard let bandwidth = AudioBandwidth(rawValue: try values.decode(String.self, forKey: .bandwidth)) else {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: "no such bandwidth"))
        }
        self.init(channels: try values.decode(Int.self, forKey: .channels), bandwidth: bandwidth)
    }

    package func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encode(channels, forKey: .channels)
        try values.encode(bandwidth.rawValue, forKey: .bandwidth)
    }
}

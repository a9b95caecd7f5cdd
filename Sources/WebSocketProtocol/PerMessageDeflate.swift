/// What both ends agreed on for permessage-deflate (RFC 7692 §7.1).
package struct PerMessageDeflate: Equatable, Sendable {
    /// The server starts each message with an empty window.
    package var serverNoContextTakeover = false
    /// The client starts each message with an empty window.
    package var clientNoContextTakeover = false
    /// Base-2 logarithm of the window that the server compresses with, 8…15.
    package var serverMaxWindowBits = 15
    /// Base-2 logarithm of the window that the client compresses with, 8…15.
    package var clientMaxWindowBits = 15

    package static let extensionName = "permessage-deflate"

    package init() {}

    /// What one end is willing to do. As a server: bounds on the answer. As a client: the offer.
    package struct Policy: Equatable, Sendable {
        package var serverNoContextTakeover = false
        package var clientNoContextTakeover = false
        package var serverMaxWindowBits = 15
        package var clientMaxWindowBits = 15
        /// The smallest window that this end's compressor can do: zlib's raw DEFLATE has no 256-byte window, so an offer that asks for 8 is declined.
        package var compressorWindowBitsMin = 9

        package init() {}
    }
}

// MARK: - Server

extension PerMessageDeflate {
    /// Takes the first acceptable offer of permessage-deflate (RFC 7692 §5.1).
    ///
    /// - Returns: the agreement and the element for the response, or `nil` to go on uncompressed.
    package static func negotiate(
        _ offers: [WebSocketExtension], policy: Policy
    ) -> (agreed: PerMessageDeflate, response: WebSocketExtension)? {
        for offer in offers where offer.name == extensionName {
            guard let wishes = Wishes(offer), let answer = accept(wishes, policy) else { continue }
            return answer
        }
        return nil
    }

    private static func accept(_ wishes: Wishes, _ policy: Policy) -> (PerMessageDeflate, WebSocketExtension)? {
        var agreed = PerMessageDeflate()
        var response = WebSocketExtension(extensionName)
        agreed.serverNoContextTakeover = wishes.serverNoContextTakeover || policy.serverNoContextTakeover
        agreed.clientNoContextTakeover = wishes.clientNoContextTakeover || policy.clientNoContextTakeover
        agreed.serverMaxWindowBits = min(wishes.serverMaxWindowBits ?? 15, policy.serverMaxWindowBits)
        guard agreed.serverMaxWindowBits >= policy.compressorWindowBitsMin else { return nil }
        if agreed.serverNoContextTakeover { response.parameters.append(.init("server_no_context_takeover")) }
        if agreed.clientNoContextTakeover { response.parameters.append(.init("client_no_context_takeover")) }
        if wishes.serverMaxWindowBits != nil || agreed.serverMaxWindowBits < 15 {
            response.parameters.append(.init("server_max_window_bits", String(agreed.serverMaxWindowBits)))
        }
        switch wishes.clientMaxWindowBits {
        case .absent:
            // The client does not know the parameter, so it must not be answered and the window may be full size (§7.1.2.2).
            break
        case .bare:
            agreed.clientMaxWindowBits = policy.clientMaxWindowBits
        case .value(let bits):
            agreed.clientMaxWindowBits = min(bits, policy.clientMaxWindowBits)
        }
        if agreed.clientMaxWindowBits < 15 {
            response.parameters.append(.init("client_max_window_bits", String(agreed.clientMaxWindowBits)))
        }
        return (agreed, response)
    }
}

// MARK: - Client

extension PerMessageDeflate {
    /// The element that offers `policy`. A client that can inflate any window always names `client_max_window_bits`, so that the server may set it.
    package static func offer(_ policy: Policy) -> WebSocketExtension {
        var offer = WebSocketExtension(extensionName)
        if policy.serverNoContextTakeover { offer.parameters.append(.init("server_no_context_takeover")) }
        if policy.clientNoContextTakeover { offer.parameters.append(.init("client_no_context_takeover")) }
        if policy.serverMaxWindowBits < 15 { offer.parameters.append(.init("server_max_window_bits", String(policy.serverMaxWindowBits))) }
        offer.parameters.append(.init("client_max_window_bits", policy.clientMaxWindowBits < 15 ? String(policy.clientMaxWindowBits) : nil))
        return offer
    }

    /// Checks the server's answer to ``offer(_:)`` (RFC 7692 §7.1).
    ///
    /// - Parameter response: all elements of the response's `Sec-WebSocket-Extensions`; empty when the server declined.
    /// - Returns: `nil` to go on uncompressed.
    package static func confirm(
        _ response: [WebSocketExtension], offered policy: Policy
    ) throws(WebSocketHandshakeFault) -> PerMessageDeflate? {
        guard let element = response.first else { return nil }
        guard response.count == 1, element.name == extensionName, let wishes = Wishes(element) else { throw .extensionNotOffered }
        var agreed = PerMessageDeflate()
        guard wishes.serverNoContextTakeover || !policy.serverNoContextTakeover else { throw .extensionNotOffered }
        agreed.serverNoContextTakeover = wishes.serverNoContextTakeover
        agreed.clientNoContextTakeover = wishes.clientNoContextTakeover || policy.clientNoContextTakeover
        agreed.serverMaxWindowBits = wishes.serverMaxWindowBits ?? 15
        guard agreed.serverMaxWindowBits <= policy.serverMaxWindowBits else { throw .extensionNotOffered }
        switch wishes.clientMaxWindowBits {
        case .absent:
            agreed.clientMaxWindowBits = policy.clientMaxWindowBits
        case .bare:
            throw .extensionNotOffered
        case .value(let bits):
            guard bits >= policy.compressorWindowBitsMin else { throw .extensionNotOffered }
            agreed.clientMaxWindowBits = min(bits, policy.clientMaxWindowBits)
        }
        return agreed
    }
}

// MARK: - Parameters

extension PerMessageDeflate {
    /// The parameters of one element, checked. An unknown, repeated or invalid one makes the whole element unacceptable (RFC 7692 §7.1).
    private struct Wishes {
        enum ClientWindow {
            case absent
            case bare
            case value(Int)
        }

        var serverNoContextTakeover = false
        var clientNoContextTakeover = false
        var serverMaxWindowBits: Int?
        var clientMaxWindowBits = ClientWindow.absent

        init?(_ element: WebSocketExtension) {
            for (index, parameter) in element.parameters.enumerated() {
                guard !element.parameters[..<index].contains(where: { $0.name == parameter.name }), take(parameter) else { return nil }
            }
        }

        private mutating func take(_ parameter: WebSocketExtension.Parameter) -> Bool {
            switch (parameter.name, parameter.value) {
            case ("server_no_context_takeover", nil):
                serverNoContextTakeover = true
            case ("client_no_context_takeover", nil):
                clientNoContextTakeover = true
            case ("server_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return false }
                serverMaxWindowBits = bits
            case ("client_max_window_bits", nil):
                clientMaxWindowBits = .bare
            case ("client_max_window_bits", let value?):
                guard let bits = Self.windowBits(value) else { return false }
                clientMaxWindowBits = .value(bits)
            default:
                return false
            }
            return true
        }

        /// A decimal number from 8 to 15 without leading zeros (RFC 7692 §7.1.2.1).
        private static func windowBits(_ value: String) -> Int? {
            switch value {
            case "8": 8
            case "9": 9
            case "10": 10
            case "11": 11
            case "12": 12
            case "13": 13
            case "14": 14
            case "15": 15
            default: nil
            }
        }
    }
}

extension WebSocketExtension {
    /// The element as it stands in the field.
    package var fieldValue: String {
        parameters.reduce(into: name) { field, parameter in
            field += "; " + parameter.name
            if let value = parameter.value { field += "=" + value }
        }
    }
}

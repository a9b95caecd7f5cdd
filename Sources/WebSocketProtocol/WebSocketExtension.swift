/// One element of `Sec-WebSocket-Extensions` (RFC 6455 §9.1): a name and its parameters in the order given.
///
/// ```
/// permessage-deflate; client_max_window_bits; server_max_window_bits=10, x-other
/// ```
package struct WebSocketExtension: Equatable, Sendable {
    package struct Parameter: Equatable, Sendable {
        package var name: String
        /// Unquoted; `nil` when the parameter is a bare name.
        package var value: String?

        package init(_ name: String, _ value: String? = nil) {
            self.name = name
            self.value = value
        }
    }

    package var name: String
    package var parameters: [Parameter]

    package init(_ name: String, _ parameters: [Parameter] = []) {
        self.name = name
        self.parameters = parameters
    }

    /// Bytes of all field values together, elements, and parameters of one element: far above what any client sends.
    package static let fieldBytesMax = 4_096
    package static let elementsMax = 16
    package static let parametersMax = 16

    /// Parses the values of all `Sec-WebSocket-Extensions` fields, which count as one list. Anything off the grammar fails the handshake (RFC 6455 §9.1).
    package static func parse(_ fields: [String]) throws(WebSocketHandshakeFault) -> [WebSocketExtension] {
        guard fields.reduce(0, { $0 + $1.utf8.count }) <= fieldBytesMax else { throw .extensionsTooLong }
        var elements: [WebSocketExtension] = []
        for field in fields {
            var scanner = FieldScanner(field)
            scanner.skipEmptyElements()
            while !scanner.isAtEnd {
                guard elements.count < elementsMax else { throw .extensionsTooLong }
                elements.append(try parseElement(&scanner))
                guard scanner.isAtEnd || scanner.take(UInt8(ascii: ",")) else { throw .extensionsMalformed }
                scanner.skipEmptyElements()
            }
        }
        return elements
    }

    private static func parseElement(_ scanner: inout FieldScanner) throws(WebSocketHandshakeFault) -> WebSocketExtension {
        guard let name = scanner.takeToken() else { throw .extensionsMalformed }
        var element = WebSocketExtension(name)
        scanner.skipSpace()
        while scanner.take(UInt8(ascii: ";")) {
            guard element.parameters.count < parametersMax else { throw .extensionsTooLong }
            scanner.skipSpace()
            guard let name = scanner.takeToken() else { throw .extensionsMalformed }
            var parameter = Parameter(name)
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "=")) {
                scanner.skipSpace()
                guard let value = scanner.takeToken() ?? scanner.takeQuotedToken() else { throw .extensionsMalformed }
                parameter.value = value
                scanner.skipSpace()
            }
            element.parameters.append(parameter)
        }
        return element
    }
}

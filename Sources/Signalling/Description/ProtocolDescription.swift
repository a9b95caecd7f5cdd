package import RelayBase

/// The AsyncAPI 3.0 document of all control messages, made from the tables beside it: what is not in the one is not in the other.
///
/// It is told from the relay's side: it receives requests, replies to each, and sends events.
package struct ProtocolDescription: Sendable {
    private let limits: Limits

    /// - Parameter limits: those of the relay that is described; what they bound has their values.
    package init(limits: Limits = Limits()) {
        self.limits = limits
    }

    /// JSON with a line feed at its end.
    package var text: String { document.json + "\n" }

    private static let channelPath = "channels/session"
    /// What any request can meet, before it is looked at.
    private static let refusalsOfAll: [RefusalKind] = [.malformed, .helloFirst]
    /// What is answered to text that is no request.
    private static let refusalsOfNone: [RefusalKind] = [.malformed, .unknownType]

    var document: DocumentNode {
        [
            "asyncapi": "3.0.0",
            "info": [
                "title": "Segue", "version": "1",
                "description": """
                The control messages of a Segue relay: text messages of a WebSocket, one JSON object each. Binary messages are media and not described \
                here. Unknown members are ignored, in both directions. Every request is answered exactly once under its id.
                """,
            ],
            "defaultContentType": "application/json",
            "servers": [
                "relay": [
                    "host": "{host}", "protocol": "wss", "description": "TLS 1.3 or 1.2; WebSocket over HTTP/1.1 (RFC 6455) or HTTP/2 (RFC 8441).",
                    "variables": ["host": ["default": "localhost:8443", "description": "Host and port."]],
                    "security": [.reference("components/securitySchemes/certificate"), .reference("components/securitySchemes/token")],
                ]
            ],
            "channels": ["session": channel],
            "operations": .object(operations),
            "components": [
                "messages": .object(messages.map { .init($0.name, $0.node) }),
                "schemas": .object(schemas),
                "securitySchemes": [
                    "certificate": ["type": "X509", "description": "A client certificate in the TLS handshake."],
                    "token": [
                        "type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": "Where the relay takes tokens; or in hello.",
                    ],
                ],
            ],
        ]
    }

    // MARK: Channel and operations

    private var channel: DocumentNode {
        [
            "address": "/v1/session", "title": "Session", "description": "One session: text messages are control.",
            "messages": .object(messages.map { .init($0.name, .reference("components/messages/\($0.name)")) }),
            "bindings": [
                "ws": [
                    "method": "GET",
                    "headers": [
                        "type": "object", "required": ["Sec-WebSocket-Protocol"],
                        "properties": ["Sec-WebSocket-Protocol": ["type": "string", "const": "segue.v1"]],
                    ],
                    "query": [
                        "type": "object",
                        "properties": [
                            "compression": ["const": "text", "description": "Together with an offer of permessage-deflate (RFC 7692)."]
                        ],
                    ],
                    "bindingVersion": "0.1.0",
                ]
            ],
        ]
    }

    private var operations: [DocumentNode.Member] {
        let requests = RequestKind.allCases.map { kind in
            DocumentNode.Member(
                kind.rawValue,
                [
                    "action": "receive", "channel": .reference(ProtocolDescription.channelPath),
                    "summary": .text(kind.description(under: limits).summary),
                    "messages": [ProtocolDescription.inChannel(kind.rawValue)],
                    "reply": [
                        "channel": .reference(ProtocolDescription.channelPath),
                        "messages": [ProtocolDescription.inChannel(kind.answerName), ProtocolDescription.inChannel(kind.errorName)],
                    ],
                ])
        }
        let events = EventKind.allCases.map { ProtocolDescription.sent($0.messageName, $0.description.summary) }
        return requests + events + [ProtocolDescription.sent("error", ProtocolDescription.errorSummary)]
    }

    private static func sent(_ name: String, _ summary: String) -> DocumentNode.Member {
        .init(name, ["action": "send", "channel": .reference(channelPath), "summary": .text(summary), "messages": [inChannel(name)]])
    }

    private static func inChannel(_ message: String) -> DocumentNode { .reference("\(channelPath)/messages/\(message)") }

    // MARK: Messages

    private static let errorSummary = "The answer to a text message that is no request; without an id when that cannot be read."

    private struct Message {
        let name: String
        let node: DocumentNode
    }

    private var messages: [Message] {
        RequestKind.allCases.flatMap(messages)
            + EventKind.allCases.map { kind in
                let event = kind.description
                let payload = JSONSchema.object([.required("type", .constant(kind.rawValue))] + event.members)
                return ProtocolDescription.message(kind.messageName, event.summary, payload, event.examples)
            }
            + [
                ProtocolDescription.message(
                    "error", ProtocolDescription.errorSummary, RefusalKind.error(ProtocolDescription.refusalsOfNone, idIsRequired: false),
                    [
                        RelayMessage.error(id: nil, RefusalKind.malformed.refusal), .error(id: 7, RefusalKind.unknownType.refusal),
                    ].map { String(decoding: $0.encoded, as: UTF8.self) })
            ]
    }

    private func messages(_ kind: RequestKind) -> [Message] {
        let about = kind.description(under: limits)
        let id = SchemaMember.required("id", .reference(.requestID))
        var request = JSONSchema.object([.required("type", .constant(kind.rawValue)), id] + about.members)
        for rule in about.rules { request = request.with(rule.name, rule.value) }
        var answer = JSONSchema.object([.required("type", .constant(kind.answerType)), id] + about.answer)
        for rule in about.answerRules { answer = answer.with(rule.name, rule.value) }
        var refusals = about.refusals + ProtocolDescription.refusalsOfAll.filter { kind != .hello || $0 != .helloFirst }
        // What concerns the room, or a session in it, waits for the answer to a join before it; only so much may.
        let waits = refusals.contains { $0 == .notInRoom || $0 == .sessionLost || $0 == .audioSessionsMax }
        if waits, !refusals.contains(.pending) { refusals.append(.pending) }
        if kind == .join || refusals.contains(.notInRoom) { refusals.append(.clusterUnavailable) }
        let errors = refusals.prefix(1).map { String(decoding: RelayMessage.error(id: 1, $0.refusal).encoded, as: UTF8.self) }
        return [
            ProtocolDescription.message(kind.rawValue, about.summary, request, about.exchanges.map(\.request), hasIdentifier: true),
            ProtocolDescription.message(
                kind.answerName, "The answer to \(kind.rawValue).", answer, about.exchanges.map(\.answer), hasIdentifier: true),
            ProtocolDescription.message(
                kind.errorName, "Refuses \(kind.rawValue), and changes nothing.", RefusalKind.error(refusals, idIsRequired: true), Array(errors),
                hasIdentifier: true),
        ]
    }

    private static func message(
        _ name: String, _ summary: String, _ payload: JSONSchema, _ examples: [String], hasIdentifier: Bool = false
    ) -> Message {
        var members: [DocumentNode.Member] = [.init("summary", .text(summary))]
        if hasIdentifier { members.append(.init("correlationId", ["location": "$message.payload#/id"])) }
        members.append(.init("payload", .object(payload.keywords)))
        members.append(.init("examples", .list(examples.map { ["payload": .verbatim($0)] })))
        return Message(name: name, node: .object(members))
    }

    // MARK: Schemas

    private var schemas: [DocumentNode.Member] {
        SharedSchema.allCases.map { .init($0.rawValue, .object($0.schema.keywords)) }
            + RefusalKind.allCases.map { .init($0.schemaName, .object($0.schema.keywords)) }
    }
}

extension RequestKind {
    /// The `type` of the answer when nothing is wrong.
    package var answerType: String { self == .hello ? "welcome" : "ok" }

    /// The name of that answer among the document's messages.
    package var answerName: String { "\(rawValue).\(answerType)" }

    package var errorName: String { "\(rawValue).error" }
}

extension EventKind {
    /// The name of the event among the document's messages: some requests have the same `type`.
    package var messageName: String { "event.\(rawValue)" }
}

/// What the OpenAPI document says about each operation, besides what the route itself says.
extension APIOperation {
    struct Description {
        let summary: String
        let success: Int
        /// The component that a success carries; `nil`: no content.
        let schema: String?
        var type = HTTPAnswer.json
        /// The component that the request carries.
        var request: String?
        var isList = false
        /// Statuses of errors beyond those that the route brings along.
        var errors: [Int] = []
    }

    var description: Description {
        switch self {
        case .readDescription: Description(summary: "This document.", success: 200, schema: "Anything")
        case .readMessages:
            Description(summary: "The control messages of sessions (AsyncAPI 3.0).", success: 200, schema: "Anything")
        case .readKeys:
            Description(
                summary: "The public keys of the relay's statements and grants (RFC 7517).", success: 200, schema: "KeySet",
                type: "application/jwk-set+json")
        case .listRooms: Description(summary: "The rooms, by name.", success: 200, schema: "RoomList", isList: true)
        case .readRoom: Description(summary: "A room.", success: 200, schema: "Room")
        case .endRoom: Description(summary: "Ends a room for everybody in it.", success: 204, schema: nil)
        case .listParticipants:
            Description(summary: "Who is in a room or waits for it, by number.", success: 200, schema: "ParticipantList", isList: true)
        case .removeParticipant: Description(summary: "Takes a participant out of a room.", success: 204, schema: nil)
        case .listStreams: Description(summary: "What is published in a room, by number.", success: 200, schema: "StreamList", isList: true)
        case .listSessions: Description(summary: "The sessions that said hello, by identifier.", success: 200, schema: "SessionList", isList: true)
        case .readSession:
            Description(summary: "A session, with its account of frames and its receiver reports.", success: 200, schema: "Session")
        case .endSession: Description(summary: "Ends a session: it is closed with 1008, reason admin.", success: 204, schema: nil)
        case .listGrants: Description(summary: "The grants of pairs, by pair.", success: 200, schema: "GrantList", isList: true)
        case .revokeGrant: Description(summary: "Revokes a pair's grant.", success: 204, schema: nil)
        case .revokeCertificate:
            Description(
                summary: "Revokes a certificate of the relay's authority.", success: 200, schema: "Revoked", request: "Revocation",
                errors: [404, 409, 422])
        case .createEnrolmentToken:
            Description(
                summary: "Makes a one-time token for a new device.", success: 201, schema: "EnrolmentToken", request: "EnrolmentTokenRequest",
                errors: [404, 422, 429])
        case .watchLive:
            Description(
                summary: "Overviews of the relay, at once and every two seconds, as server-sent events called overview. The answer does not end.",
                success: 200, schema: "Overview", type: "text/event-stream")
        case .createListening:
            Description(
                summary: "An address of a room's mix, good once and for a minute.", success: 201, schema: "Listening", request: "ListeningRequest")
        case .listenToRoom: Description(summary: "A room's mix, without an end.", success: 200, schema: "Sound", type: Listening.contentType)
        case .listen:
            Description(summary: "A room's mix for a ticket, without an end.", success: 200, schema: "Sound", type: Listening.contentType)
        case .cancelDrain: Description(summary: "Takes a drain back: the relay stays, and takes new sessions again.", success: 202, schema: nil)
        case .drain: Description(summary: "The relay takes no new sessions and ends, as on SIGTERM.", success: 202, schema: nil)
        case .reload: Description(summary: "Reads all reloadable files anew, as on SIGHUP; /readyz says how it went.", success: 202, schema: nil)
        case .enroll:
            Description(
                summary: "A new device's certificate for a one-time token.", success: 201, schema: "Certificate", request: "Enrolment",
                errors: [403, 404, 409, 422, 429])
        case .renew:
            Description(
                summary: "A new certificate for the one shown, before it ends.", success: 201, schema: "Certificate", request: "Renewal",
                errors: [404, 409, 422, 429])
        }
    }

    /// The components, as JSON text.
    static let schemas = #"""
        {
        "Anything": {"type": "object"},
        "Problem": {"type": "object", "description": "RFC 9457", "required": ["type", "status", "title"], "properties": {
          "type": {"type": "string"}, "status": {"type": "integer"}, "title": {"type": "string"}, "detail": {"type": "string"}}},
        "Identity": {"type": "object", "required": ["name", "proof"], "properties": {
          "name": {"type": "string"}, "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
          "proof": {"enum": ["certificate", "token", "certificate+token", "forwarded", "forwarded+token"]}}},
        "Time": {"type": "number", "description": "Milliseconds since 1970-01-01T00:00Z."},
        "Kind": {"enum": ["audio", "video", "data"]},
        "Room": {"type": "object", "required": ["name", "participants", "waiting", "streams", "locked"], "properties": {
          "name": {"type": "string"}, "participants": {"type": "integer"}, "waiting": {"type": "integer"}, "streams": {"type": "integer"},
          "locked": {"type": "boolean"}}},
        "Overview": {"type": "object", "description": "The data of each event. Counters are totals since the start.",
          "required": ["node", "version", "uptimeSeconds", "time", "draining", "connections", "sessions", "rooms", "participants", "streams", "cpuShare",
            "loops", "frames", "closes", "residentBytes", "certificates", "stale", "roomsTop", "nodes"], "properties": {
          "node": {"type": "string"}, "version": {"type": "string"}, "uptimeSeconds": {"type": "number"}, "time": {"$ref": "#/components/schemas/Time"},
          "draining": {"type": "boolean"}, "connections": {"type": "integer"}, "sessions": {"type": "object", "required": ["connected", "parked"],
          "properties": {"connected": {"type": "integer"}, "parked": {"type": "integer"}}}, "rooms": {"type": "integer"},
          "participants": {"type": "integer"}, "streams": {"type": "integer"}, "cpuShare": {"type": "number", "minimum": 0},
          "loops": {"type": "array", "items": {"type": "object", "required": ["loop", "connections", "busyShare", "slowIterations", "iterations"],
          "properties": {"loop": {"type": "integer"}, "connections": {"type": "integer"}, "busyShare": {"$ref": "#/components/schemas/Share"},
          "slowIterations": {"type": "integer"}, "iterations": {"type": "integer"}}}},
          "frames": {"type": "object", "required": ["in", "delivered", "bytes", "dropped"], "properties": {"in": {"type": "integer"},
          "delivered": {"type": "integer"}, "bytes": {"type": "integer"},
          "dropped": {"type": "object", "additionalProperties": {"type": "integer"}}}},
          "closes": {"type": "object", "additionalProperties": {"type": "integer"}}, "residentBytes": {"type": "integer"},
          "certificates": {"type": "array", "items": {"type": "object", "required": ["what", "name", "notAfter"], "properties": {
          "what": {"enum": ["server", "authority", "client"]}, "name": {"type": "string"}, "notAfter": {"$ref": "#/components/schemas/Time"},
          "session": {"type": "string"}}}}, "stale": {"type": "array", "items": {"type": "string"}},
          "roomsTop": {"type": "array", "maxItems": 20, "items": {"$ref": "#/components/schemas/Room"}},
          "nodes": {"type": "array", "items": {"type": "object", "required": ["node", "state"], "properties": {"node": {"type": "string"},
          "state": {"enum": ["up", "draining"]}}}}}},
        "ListeningRequest": {"type": "object", "required": ["room"], "properties": {"room": {"type": "string"}}},
        "Listening": {"type": "object", "required": ["url", "expires"], "properties": {
          "url": {"type": "string", "pattern": "^/listen/[0-9a-f]{64}\\.ogg$"}, "expires": {"$ref": "#/components/schemas/Time"}}},
        "Sound": {"type": "string", "description": "Ogg Opus (RFC 7845)."},
        "RoomList": {"type": "object", "required": ["rooms"], "properties": {
          "rooms": {"type": "array", "items": {"$ref": "#/components/schemas/Room"}}, "next": {"type": "string"}}},
        "Participant": {"type": "object", "required": ["participant", "waiting", "interrupted", "held", "streams", "loop"], "properties": {
          "participant": {"type": "integer"}, "identity": {"$ref": "#/components/schemas/Identity"}, "displayName": {"type": "string"},
          "role": {"enum": ["host", "speaker", "listener", "recorder"]}, "waiting": {"type": "boolean"},
          "muted": {"type": "array", "items": {"$ref": "#/components/schemas/Kind"}}, "interrupted": {"type": "boolean"},
          "held": {"type": "boolean"}, "streams": {"type": "integer"},
          "session": {"type": "string"}, "device": {"type": "string"}, "address": {"type": "string"},
          "state": {"enum": ["connected", "parked"]},
          "since": {"$ref": "#/components/schemas/Time"}, "loop": {"type": "integer"}}},
        "ParticipantList": {"type": "object", "required": ["participants"], "properties": {
          "participants": {"type": "array", "items": {"$ref": "#/components/schemas/Participant"}}, "next": {"type": "string"}}},
        "Stream": {"type": "object", "required": ["stream", "participant", "kind", "codec"], "properties": {
          "stream": {"type": "integer"}, "participant": {"type": "integer"}, "kind": {"$ref": "#/components/schemas/Kind"},
          "codec": {"type": "string"}, "source": {"type": "string"}, "description": {"type": "object"},
          "reception": {"$ref": "#/components/schemas/Reception"},
          "buffers": {"type": "array", "items": {"$ref": "#/components/schemas/Buffer"}}}},
        "Buffer": {"type": "object", "description": "A jitter buffer of the stream at the relay: for paced delivery, or for the room's mix.",
          "required": ["delivery", "targetMilliseconds", "levelMilliseconds", "packets", "late", "duplicates", "malformed", "discarded", "recovered",
            "concealedShare", "acceleratedShare", "expandedShare", "concealments", "interruptions", "interruptionMilliseconds", "driftPPM"],
          "properties": {"delivery": {"enum": ["paced", "mixed"]}, "latePolicy": {"enum": ["drop", "conceal"]},
          "profile": {"enum": ["lowLatency", "balanced", "smooth"]}, "pinnedMilliseconds": {"type": "integer"},
          "targetMilliseconds": {"type": "integer"}, "levelMilliseconds": {"type": "integer"}, "packets": {"type": "integer"},
          "late": {"type": "integer"}, "duplicates": {"type": "integer"}, "malformed": {"type": "integer"}, "discarded": {"type": "integer"},
          "recovered": {"type": "integer"}, "concealedShare": {"$ref": "#/components/schemas/Share"},
          "acceleratedShare": {"$ref": "#/components/schemas/Share"}, "expandedShare": {"$ref": "#/components/schemas/Share"},
          "concealments": {"type": "integer"}, "interruptions": {"type": "integer"}, "interruptionMilliseconds": {"type": "integer"},
          "driftPPM": {"type": "number"}}},
        "Reception": {"type": "object", "description": "A stream as its receivers have reported it within the last seconds.",
          "required": ["stream", "receivers", "concealedShare", "concealedShareMax", "lateShare", "lateShareMax"], "properties": {
          "stream": {"type": "integer"}, "receivers": {"type": "integer"}, "concealedShare": {"$ref": "#/components/schemas/Share"},
          "concealedShareMax": {"$ref": "#/components/schemas/Share"}, "lateShare": {"$ref": "#/components/schemas/Share"},
          "lateShareMax": {"$ref": "#/components/schemas/Share"}, "bufferMilliseconds": {"type": "number"}, "bufferMillisecondsMax": {"type": "number"},
          "jitterMillisecondsMax": {"type": "number"}}},
        "Share": {"type": "number", "minimum": 0, "maximum": 1},
        "StreamList": {"type": "object", "required": ["streams"], "properties": {
          "streams": {"type": "array", "items": {"$ref": "#/components/schemas/Stream"}}, "next": {"type": "string"}}},
        "Session": {"type": "object", "required": ["session", "address", "state", "transport", "since", "loop"], "properties": {
          "session": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "identity": {"$ref": "#/components/schemas/Identity"},
          "device": {"type": "string"}, "address": {"type": "string"}, "state": {"enum": ["connected", "parked"]},
          "transport": {"enum": ["http/1.1", "h2"]},
          "since": {"$ref": "#/components/schemas/Time"}, "room": {"type": "string"}, "participant": {"type": "integer"}, "loop": {"type": "integer"},
          "roundTripMilliseconds": {"type": "number"}, "roundTripMillisecondsMin": {"type": "number"},
          "clockOffsetMilliseconds": {"type": "number"}, "clockUncertaintyMilliseconds": {"type": "number"}, "clockDriftPPM": {"type": "number"},
          "bitrate": {"type": "integer"}, "congested": {"type": "boolean"}, "notSentBytes": {"type": "integer"},
          "tcpRoundTripMilliseconds": {"type": "number"}, "audioSession": {"$ref": "#/components/schemas/AudioSession"},
          "frames": {"$ref": "#/components/schemas/Frames"}, "reports": {"type": "array", "items": {"$ref": "#/components/schemas/Report"}}}},
        "AudioSession": {"type": "object", "required": ["state", "category", "mode", "options", "paused", "held"], "properties": {
          "state": {"enum": ["uninitialised", "inactive", "active", "interrupted"]}, "category": {"type": "string"}, "mode": {"type": "string"},
          "options": {"type": "integer"}, "paused": {"type": "boolean"}, "held": {"type": "boolean"},
          "interruption": {"type": "object", "required": ["reason", "own"], "properties": {
            "reason": {"type": "string"}, "own": {"type": "boolean"}}},
          "route": {"type": "object", "required": ["inputs", "outputs"], "properties": {
            "inputs": {"type": "array", "items": {"type": "string"}}, "outputs": {"type": "array", "items": {"type": "string"}}}}}},
        "Frames": {"type": "object", "description": "Where the session's frames went: entered is the sum of all others.",
          "required": ["entered", "delivered", "expired", "superseded", "unsubscribed", "interrupted", "refused", "pending"], "properties": {
          "entered": {"type": "integer"}, "delivered": {"type": "integer"}, "expired": {"type": "integer"}, "superseded": {"type": "integer"},
          "unsubscribed": {"type": "integer"}, "interrupted": {"type": "integer"}, "refused": {"type": "integer"}, "pending": {"type": "integer"}}},
        "Report": {"type": "object", "required": ["stream", "received", "played", "concealed", "late", "concealedShare", "lateShare"], "properties": {
          "stream": {"type": "integer"}, "received": {"type": "integer"}, "played": {"type": "integer"}, "concealed": {"type": "integer"},
          "late": {"type": "integer"}, "concealedShare": {"$ref": "#/components/schemas/Share"}, "lateShare": {"$ref": "#/components/schemas/Share"},
          "bufferMilliseconds": {"type": "number"}, "jitterMilliseconds": {"type": "number"}, "bitrate": {"type": "number"}}},
        "SessionList": {"type": "object", "required": ["sessions"], "properties": {
          "sessions": {"type": "array", "items": {"$ref": "#/components/schemas/Session"}}, "next": {"type": "string"}}},
        "KeySet": {"type": "object", "required": ["keys"], "properties": {"keys": {"type": "array", "items": {"type": "object"}}}},
        "Grant": {"type": "object", "required": ["pair", "basis", "members", "issued", "expires"], "properties": {
          "pair": {"type": "string", "pattern": "^[0-9a-f]{32}$"}, "basis": {"enum": ["policy", "grant", "code"]},
          "members": {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "object", "required": ["name", "fingerprint"], "properties": {
            "name": {"type": "string"}, "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"}}}},
          "issued": {"$ref": "#/components/schemas/Time"}, "expires": {"$ref": "#/components/schemas/Time"}}},
        "GrantList": {"type": "object", "required": ["grants"], "properties": {
          "grants": {"type": "array", "items": {"$ref": "#/components/schemas/Grant"}}, "next": {"type": "string"}}},
        "RevocationReason": {"enum": ["unspecified", "keyCompromise", "affiliationChanged", "superseded", "cessationOfOperation", "privilegeWithdrawn"]},
        "Revocation": {"description": "One certificate by its serial number, or all of one key; with what was renewed from it, unless superseded.", "oneOf": [
          {"type": "object", "required": ["serial"], "not": {"required": ["fingerprint"]}, "properties": {
            "serial": {"type": "string", "pattern": "^[4-7][0-9a-f]{31}$"}, "reason": {"$ref": "#/components/schemas/RevocationReason"}}},
          {"type": "object", "required": ["fingerprint"], "not": {"required": ["serial"]}, "properties": {
            "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"}, "reason": {"$ref": "#/components/schemas/RevocationReason"}}}]},
        "Revoked": {"type": "object", "required": ["revoked"], "properties": {"revoked": {"type": "array", "items": {"type": "object",
          "required": ["serial", "label", "names"], "properties": {"serial": {"type": "string"}, "label": {"type": "string"},
          "names": {"type": "array", "items": {"type": "string"}}, "fingerprint": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
          "renews": {"type": "string"}}}}}},
        "EnrolmentTokenRequest": {"type": "object", "required": ["names"], "properties": {
          "names": {"type": "array", "minItems": 1, "maxItems": 32, "description": "The identity: URI:, DNS: or email: and the name.",
            "items": {"type": "string", "pattern": "^(URI:urn:segue:client:[A-Za-z0-9][A-Za-z0-9._-]{0,63}|DNS:[a-z]{1,63}|email:[a-z]{1,64}@[a-z]{1,63})$"}},
          "label": {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"},
          "validSeconds": {"type": "integer", "minimum": 1, "maximum": 2592000}, "certificateDays": {"type": "integer", "minimum": 1, "maximum": 825}}},
        "EnrolmentToken": {"type": "object", "required": ["token", "id", "names", "label", "expires"], "properties": {
          "token": {"type": "string", "pattern": "^segue-enrol-[0-9a-f]{48}$"}, "id": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
          "names": {"type": "array", "items": {"type": "string"}}, "label": {"type": "string"}, "expires": {"$ref": "#/components/schemas/Time"}}},
        "Enrolment": {"type": "object", "required": ["token", "csr"], "properties": {
          "token": {"type": "string"}, "csr": {"type": "string", "description": "PKCS #10 in PEM."}}},
        "Renewal": {"type": "object", "required": ["csr"], "properties": {"csr": {"type": "string", "description": "PKCS #10 in PEM."}}},
        "Certificate": {"type": "object", "required": ["certificate", "chain", "notAfter"], "properties": {
          "certificate": {"type": "string"}, "chain": {"type": "string"}, "notAfter": {"$ref": "#/components/schemas/Time"}}}
        }
        """#
}

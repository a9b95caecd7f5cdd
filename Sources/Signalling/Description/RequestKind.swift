package import RelayBase

/// The requests of the protocol, one case for each of ``ClientRequest``; the raw value is the message's `type`.
package enum RequestKind: String, CaseIterable, Sendable {
    case hello
    case time
    case authenticate
    case report
    case join
    case leave
    case publish
    case unpublish
    case subscribe
    case unsubscribe
    case requestKeyFrame = "keyframe.request"
    case mute
    case remove
    case promote
    case lock
    case end
    case admit
    case deny
    case pairRequest = "pair.request"
    case pairAccept = "pair.accept"
    case pairDecline = "pair.decline"
    case pairCancel = "pair.cancel"
    case pairCode = "pair.code"
    case pairEnter = "pair.enter"
    case pairList = "pair.list"
    case pairRevoke = "pair.revoke"
    case pairDevices = "pair.devices"
    case sessionInit = "session.init"
    case setCategory = "session.setCategory"
    case setActive = "session.setActive"
    case interruptionBegan = "interruption.began"
    case interruptionEnded = "interruption.ended"
    case routeChanged = "route.changed"
    case playbackPause = "playback.pause"
    case playbackContinue = "playback.continue"
    case streamStart = "stream.start"
    case streamPrime = "stream.prime"
    case streamPause = "stream.pause"
    case streamStop = "stream.stop"
    case streamFlush = "stream.flush"
    case streamReset = "stream.reset"
    case setParameters = "stream.setParameters"

    /// Exhaustive: a request that is not described does not compile.
    package init(_ request: ClientRequest) {
        switch request {
        case .hello: self = .hello
        case .time: self = .time
        case .authenticate: self = .authenticate
        case .report: self = .report
        case .join: self = .join
        case .leave: self = .leave
        case .publish: self = .publish
        case .unpublish: self = .unpublish
        case .subscribe: self = .subscribe
        case .unsubscribe: self = .unsubscribe
        case .requestKeyFrame: self = .requestKeyFrame
        case .mute: self = .mute
        case .remove: self = .remove
        case .promote: self = .promote
        case .lock: self = .lock
        case .end: self = .end
        case .admit: self = .admit
        case .deny: self = .deny
        case .pairRequest: self = .pairRequest
        case .pairAccept: self = .pairAccept
        case .pairDecline: self = .pairDecline
        case .pairCancel: self = .pairCancel
        case .pairCode: self = .pairCode
        case .pairEnter: self = .pairEnter
        case .pairList: self = .pairList
        case .pairRevoke: self = .pairRevoke
        case .pairDevices: self = .pairDevices
        case .sessionInit: self = .sessionInit
        case .setCategory: self = .setCategory
        case .setActive: self = .setActive
        case .interruptionBegan: self = .interruptionBegan
        case .interruptionEnded: self = .interruptionEnded
        case .routeChanged: self = .routeChanged
        case .playbackPause: self = .playbackPause
        case .playbackContinue: self = .playbackContinue
        case .streamStart: self = .streamStart
        case .streamPrime: self = .streamPrime
        case .streamPause: self = .streamPause
        case .streamStop: self = .streamStop
        case .streamFlush: self = .streamFlush
        case .streamReset: self = .streamReset
        case .setParameters: self = .setParameters
        }
    }

    /// - Parameter limits: those of the relay that is described.
    package func description(under limits: Limits) -> RequestDescription {
        switch self {
        case .hello: .hello
        case .time: .time
        case .authenticate: .authenticate
        case .report: .report
        case .join: .join(under: limits)
        case .leave: .leave
        case .publish: .publish
        case .unpublish: .unpublish
        case .subscribe: .subscribe
        case .unsubscribe: .unsubscribe
        case .requestKeyFrame: .requestKeyFrame
        case .mute: .mute
        case .remove: .remove
        case .promote: .promote
        case .lock: .lock
        case .end: .end
        case .admit: .admit
        case .deny: .deny
        case .pairRequest: .pairRequest
        case .pairAccept: .pairAccept
        case .pairDecline: .pairDecline
        case .pairCancel: .pairCancel
        case .pairCode: .pairCode
        case .pairEnter: .pairEnter
        case .pairList: .pairList
        case .pairRevoke: .pairRevoke
        case .pairDevices: .pairDevices
        case .sessionInit: .sessionInit
        case .setCategory: .setCategory
        case .setActive: .setActive
        case .interruptionBegan: .interruptionBegan
        case .interruptionEnded: .interruptionEnded
        case .routeChanged: .routeChanged
        case .playbackPause: .playbackPause
        case .playbackContinue: .playbackContinue
        case .streamStart: .streamStart
        case .streamPrime: .streamPrime
        case .streamPause: .streamPause
        case .streamStop: .streamStop
        case .streamFlush: .streamFlush
        case .streamReset: .streamReset
        case .setParameters: .setParameters
        }
    }
}

/// A request with its answer, as the document says them.
package struct RequestDescription: Sendable {
    /// Whole messages, as they go over the wire.
    package struct Exchange: Sendable {
        package let request: String
        package let answer: String

        init(_ request: String, _ answer: String) {
            self.request = request
            self.answer = answer
        }
    }

    /// A sentence.
    let summary: String
    /// Besides `type` and `id`.
    let members: [SchemaMember]
    /// What no single member says of the request.
    var rules: [DocumentNode.Member] = []
    /// The members of the `ok`, or of the `welcome`, besides `type` and `id`.
    let answer: [SchemaMember]
    var answerRules: [DocumentNode.Member] = []
    /// Besides those that every request can meet.
    let refusals: [RefusalKind]
    package let exchanges: [Exchange]

    init(
        _ summary: String, _ members: [SchemaMember] = [], rules: [DocumentNode.Member] = [], answer: [SchemaMember] = [],
        answerRules: [DocumentNode.Member] = [], refusals: [RefusalKind], _ exchanges: [Exchange]
    ) {
        self.summary = summary
        self.members = members
        self.rules = rules
        self.answer = answer
        self.answerRules = answerRules
        self.refusals = refusals
        self.exchanges = exchanges
    }
}

extension DocumentNode.Member {
    /// At least one of these sets of members is there.
    static func anyOf(_ alternatives: [[String]]) -> DocumentNode.Member {
        .init("anyOf", .list(alternatives.map { ["required": .list($0.map { .text($0) })] }))
    }
}

/// Values that examples have in common.
enum ExampleValues {
    static let aliceFingerprint = "9d3e0b7c51a84f6293d7e8c4406b1fa25e9c7d10b3862f4ad5590e17c2a8b607"
    static let bobFingerprint = "41aa6c0e97d253b8f4016e2b85c9d73a1f60e4b29a7d8c5304be12f96d3a879c"
    static let alice = #"{"name":"urn:segue:client:alice","fingerprint":"\#(aliceFingerprint)","proof":"certificate"}"#
    static let bob = #"{"name":"urn:segue:client:bob","fingerprint":"\#(bobFingerprint)","proof":"certificate+token"}"#
    static let session = "6f0c2b9a4e7d18350f6ac92e8b47d5d1"
    static let resumeToken = "b1d93f6a0c2e4785a9b7c0d1e2f30415263748596a7b8c9dae0bfc1d2e3f404e"
    static let nextResumeToken = "77a0c4e1b2d35f6908172635445362718090a1b2c3d4e5f60718293a4b5c6d93"
    static let request = "5b1e7f02a9c84d36b5e0417f2d8c6a90"
    static let pairNumber = "c41f8e27d05b4a93866f1e0d7c2b593a"
    static let pairRoom = "pair:77ab19c0d2e3f4a5b6c7d8e9fa0b1c2d3e4f5061728394a5b6c7d8e9fa0b1ce2"
    static let jws = "eyJhbGciOiJFZERTQSJ9.eyJpc3MiOiJzZWd1ZSJ9.c2lnbmF0dXJl"
    static let route =
        #"{"inputs":[{"type":"headsetMic","name":"Alice's headset","sampleRate":48000,"channels":1,"latency":0.01}],"outputs":[{"type":"headset","name":"Alice's headset","sampleRate":48000,"channels":2,"latency":0.012}]}"#
    static let streamInfo =
        #"{"stream":1,"participant":4,"kind":"audio","codec":"opus","source":"microphone","description":{"sampleRate":48000,"channels":1}}"#
    static let layered =
        #"{"stream":2,"participant":4,"kind":"video","codec":"vp8","priority":"high","layers":[{"width":320,"height":180,"bitrate":150000},{"temporalLayers":3,"width":640,"height":360,"frameRate":30,"bitrate":500000}]}"#
    static let bobInRoom = #"{"participant":4,"role":"host","identity":\#(bob)}"#
    static let aliceInRoom =
        #"{"participant":5,"role":"speaker","displayName":"Alice","muted":["video"],"interrupted":true,"held":true,"route":\#(route),"category":"playAndRecord","mode":"voiceChat","identity":\#(alice)}"#
    static let room =
        #""room":"demo","participant":5,"role":"speaker","locked":false,"participants":[\#(bobInRoom),\#(aliceInRoom)],"streams":[\#(streamInfo),\#(layered)],"speakers":[{"participant":4,"stream":1,"level":-23}]"#
    static let pair =
        #"{"pair":"\#(pairNumber)","room":"\#(pairRoom)","basis":"grant","peer":\#(bob),"expires":1762592000000,"statement":"\#(jws)","grant":"\#(jws)"}"#
}

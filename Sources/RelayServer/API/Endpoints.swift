import HTTPProtocol
import HTTPTransport
import Reactor
import RelayBase
import TLSTransport

/// The plain HTTP endpoints, the same over both HTTP versions. Decides; the loop sends.
struct Endpoints {
    static let sessionPath = "/v1/session"
    static let echoPath = "/echo"
    static let metricsPath = "/metrics"

    /// permessage-deflate is only agreed to when the target says that the client compresses text alone: most libraries, once it is agreed to, compress
    /// media as well.
    static func asksForTextCompression(_ query: String?) -> Bool {
        query?.split(separator: "&").contains("compression=text") == true
    }

    typealias Response = (head: HTTPResponseHead, body: [UInt8])

    let shared: Shared
    let web: WebFiles?
    let identity: PeerIdentity?
    let uptimeSeconds: Double

    func response(to head: HTTPRequestHead) -> Response {
        switch head.path {
        case "/healthz": plain(head) { Endpoints.text(.ok, "ok\n") }
        case "/readyz": plain(head) { readiness() }
        case Endpoints.metricsPath: plain(head) { metrics() }
        case "/" where web == nil:
            plain(head) { Endpoints.text(.ok, "Segue relay. WebSocket endpoint: \(Endpoints.sessionPath), subprotocol segue.v1.\n") }
        case Endpoints.sessionPath: upgradeOnly(head)
        case Endpoints.echoPath where shared.configuration.echo: upgradeOnly(head)
        default: web?.response(to: head) ?? ProblemDocument(status: .notFound, detail: "There is nothing at this path.").response()
        }
    }

    private func plain(_ head: HTTPRequestHead, _ answer: () -> Response) -> Response {
        guard head.method == .get || head.method == .head else {
            return ProblemDocument(status: .methodNotAllowed, detail: "This resource can be read only.").response(extra: [
                HTTPField("allow", "GET, HEAD")
            ])
        }
        return answer()
    }

    private func upgradeOnly(_ head: HTTPRequestHead) -> Response {
        guard head.method == .get else {
            return ProblemDocument(.methodNotAllowed).response(extra: UpgradeRefusal.methodNotAllowed.responseFields(over: head.version))
        }
        return ProblemDocument(.upgradeRequired).response(extra: UpgradeRefusal.upgradeRequired.responseFields(over: head.version))
    }

    private func readiness() -> Response {
        guard !shared.readiness.isDraining else { return Endpoints.text(.serviceUnavailable, "draining\n") }
        let stale = shared.readiness.stale.map { "stale: \($0.rawValue)\n" }
        let unsaved = shared.readiness.grantsAreUnsaved ? "unsaved: grants\n" : ""
        if shared.gateway != nil, shared.readiness.clusterNumber == 0 { return Endpoints.text(.serviceUnavailable, "joining the cluster\n") }
        let cluster = shared.readiness.clusterIsDegraded ? "degraded: cluster\n" : ""
        return Endpoints.text(
            .ok, "ready\n" + stale.joined() + unsaved + cluster, more: [HTTPField("segue-weight", "\(shared.balancerWeight)%")])
    }

    private func metrics() -> Response {
        guard identity != nil else {
            return ProblemDocument(status: .forbidden, detail: "Metrics are for clients with a certificate.").response()
        }
        let text = PrometheusText.render(
            shared.board.snapshot(), audio: shared.audioBoard.snapshot(),
            cluster: shared.gateway == nil ? nil : shared.clusterBoard.snapshot().first, readiness: shared.readiness, auditLost: shared.audit.lost,
            uptimeSeconds: uptimeSeconds)
        return Endpoints.text(.ok, text, type: "text/plain; version=0.0.4; charset=utf-8")
    }

    static func text(_ status: HTTPStatus, _ text: String, type: String = "text/plain; charset=utf-8", more: [HTTPField] = []) -> Response {
        let body = Array(text.utf8)
        let fields: HTTPFields = [
            HTTPField("content-type", type), HTTPField("content-length", "\(body.count)"), HTTPField("cache-control", "no-store"),
            HTTPField("x-content-type-options", "nosniff"),
        ]
        var all = fields
        for field in more { all.append(field) }
        return (HTTPResponseHead(status: status, fields: all), body)
    }
}

/// The Date field's value, made anew once a second.
struct DateText {
    private var seconds: Int64 = -1
    private var text = ""

    mutating func current() -> String {
        let now = Int64(WallClock.now() / 1_000)
        if now != seconds {
            seconds = now
            text = HTTPDate.string(unixSeconds: now)
        }
        return text
    }
}

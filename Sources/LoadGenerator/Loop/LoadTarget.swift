package import RelayClient
package import TLSTransport

/// Where clients go, and as whom: client `i` is the `i`-th identity, counted around.
package struct LoadTarget: Sendable {
    /// Address, name, HTTP version.
    package var options: ClientOptions
    package var identities: [TLSContext]
    /// Rooms are named so, with their number behind it.
    package var roomPrefix: String
    /// Publishers and subscribers are on several machines: instants are those of the relay's clock, as each session knows it from time exchanges.
    package var usesRelayClock: Bool

    /// - Precondition: there is an identity.
    package init(options: ClientOptions, identities: [TLSContext], roomPrefix: String = "load", usesRelayClock: Bool = false) {
        precondition(!identities.isEmpty, "clients are somebody")
        self.options = options
        self.identities = identities
        self.roomPrefix = roomPrefix
        self.usesRelayClock = usesRelayClock
    }
}

#if canImport(AVFAudio) && !os(macOS)
    public import AVFAudio
    internal import Foundation

    /// The one observer of an app's `AVAudioSession`: hands every notification to a ``SessionBridge`` and what comes of it to the app.
    /// No decision is made here. It is the only file that the relay's own tests cannot compile.
    @MainActor
    public final class AudioSessionHub {
        public private(set) var bridge = SessionBridge()
        private let session: AVAudioSession
        private let perform: @MainActor (BridgeOutcome) -> Void
        private var observers: [any NSObjectProtocol] = []

        /// - Parameter perform: sends the requests over the app's connection, in order, then does the actions.
        public init(session: AVAudioSession = .sharedInstance(), perform: @escaping @MainActor (BridgeOutcome) -> Void) {
            self.session = session
            self.perform = perform
            observers = PlatformNotification.allCases.map { kind in
                // Delivered on the main queue, one after the other.
                NotificationCenter.default.addObserver(forName: Notification.Name(kind.rawValue), object: nil, queue: .main) { [weak self] note in
                    let values = AudioSessionHub.values(note.userInfo)
                    MainActor.assumeIsolated { self?.receive(kind, values) }
                }
            }
        }

        isolated deinit {
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
        }

        /// What the relay says goes through the same bridge: events, answers, and where a resumed session stands.
        public func withBridge(_ body: (inout SessionBridge) -> BridgeOutcome) {
            perform(body(&bridge))
        }

        /// So do the app's own wishes.
        public func send(_ body: (inout SessionBridge) -> [BridgeRequest]) {
            perform(BridgeOutcome(requests: body(&bridge)))
        }

        /// The relay session is a new one: it gets an audio session, with the route as it is now.
        public func create() {
            perform(BridgeOutcome(requests: bridge.create(route: route)))
        }

        private func receive(_ kind: PlatformNotification, _ userInfo: [String: BridgeValue]) {
            perform(bridge.receive(kind, userInfo, route: route) { (try? session.setActive(true)) != nil })
        }

        /// Numbers and flags; a flag is an `NSNumber` too, and comes out as both the platform's key says: the mute and suspended keys are flags.
        private nonisolated static func values(_ userInfo: [AnyHashable: Any]?) -> [String: BridgeValue] {
            let flags: Set = [PlatformKey.muteState.rawValue, PlatformKey.interruptionWasSuspended.rawValue]
            return (userInfo ?? [:]).reduce(into: [:]) { values, member in
                guard let key = member.key as? String, let number = member.value as? NSNumber else { return }
                values[key] = flags.contains(key) ? .flag(number.boolValue) : .number(number.doubleValue)
            }
        }

        private var route: PlatformRoute {
            func ports(_ ports: [AVAudioSessionPortDescription], latency: Double) -> [PlatformPort] {
                ports.map {
                    PlatformPort(
                        type: $0.portType.rawValue, name: $0.portName, sampleRate: session.sampleRate, channels: $0.channels?.count ?? 0,
                        latency: latency)
                }
            }
            let current = session.currentRoute
            return PlatformRoute(
                inputs: ports(current.inputs, latency: session.inputLatency), outputs: ports(current.outputs, latency: session.outputLatency))
        }
    }
#endif

package import CertificateAuthority
import FoundationEssentials
import Glibc
package import JOSE
package import Reactor
import RelayBase
import RelayRooms
import Synchronization
package import TLSTransport

/// Why the relay did not start.
package enum ServerFault: Error, Sendable, CustomStringConvertible {
    case listen(SocketAddress, SystemFault)
    case tls(TLSSetupError)
    case enrolment(CertificateAuthorityFault)
    case auditLog(path: String, SystemFault)
    case state(StateFault)
    case tokens(JSONWebKeySetFileFault)
    case web(WebFolderFault)
    case system(SystemFault)

    package var description: String {
        switch self {
        case .listen(let address, let fault): "cannot listen on \(address): \(fault)"
        case .tls(let fault): "TLS: \(fault)"
        case .enrolment(let fault): "enrolment: \(fault)"
        case .auditLog(let path, let fault): "cannot open the audit log \(path): \(AuditFile.explain(fault))"
        case .state(let fault): "\(fault)"
        case .tokens(let fault): "tokens.keys: \(fault)"
        case .web(let fault): "web: \(fault)"
        case .system(let fault): "\(fault)"
        }
    }
}

/// The relay: its loops' threads, and the supervision of signals and files on the caller's thread.
package final class Server {
    /// Blocked before any thread starts, so that only the supervisor sees them.
    package static let signals = [SIGTERM, SIGINT, SIGHUP, SIGUSR1]

    private static let backlog: Int32 = 4_096

    private let shared: Shared
    private var threads: [LoopThread] = []
    private var audioThreads: [LoopThread] = []
    private var liveThread: LoopThread?
    private var gatewayThread: LoopThread?
    private var signals: SignalReceiver
    private var reloads: Reloads
    private let trust: TrustReload
    private let log: Log
    private var manager: ServiceManager
    private let inherited: InheritedSockets
    private let agent: AgentListener?
    /// Where the relay listens: the kernel's choice where the configuration said port 0.
    package private(set) var addresses: [SocketAddress] = []
    /// Where it listens without TLS, for a proxy that ends TLS in front.
    package private(set) var proxyAddresses: [SocketAddress] = []

    /// Binds, makes the TLS context, and starts the loops.
    package init(_ configuration: ServerConfiguration, log: Log) throws(ServerFault) {
        self.log = log
        let environment = ProcessInfo.processInfo.environment
        manager = ServiceManager(environment: environment, process: getpid())
        inherited = InheritedSockets(environment: environment, process: getpid(), calls: .linux)
        let audit = try Server.audit(configuration.auditLog, log)
        let pairing: PairingState
        do {
            pairing = try PairingState.open(folder: configuration.stateFolder, node: configuration.node, log: log)
        } catch {
            throw .state(error)
        }
        let authority: CertificateAuthority?
        do throws(CertificateAuthorityFault) {
            authority =
                if let enrolment = configuration.enrolment {
                    try .open(directory: enrolment.authority, lockTimeout: EnrolmentWorker.lockTimeout)
                } else { nil }
        } catch {
            throw .enrolment(error)
        }
        do {
            shared = try Shared(configuration: configuration, pairing: pairing, authority: authority, log: log, audit: audit)
            signals = try SignalReceiver(Server.signals)
        } catch {
            throw .system(error)
        }
        do throws(SystemFault) {
            agent = if let address = configuration.proxies.agent { try AgentListener(on: address, calls: .linux) } else { nil }
        } catch {
            throw .system(error)
        }
        reloads = Reloads(readiness: shared.readiness, log: log)
        trust = TrustReload(configuration.tls, shared)
        addReloads()
        let context: TLSContext
        do {
            context = try trust.first()
        } catch {
            throw .tls(error)
        }
        try addTokens(configuration)
        try addWeb(configuration)
        try start(configuration, context)
    }

    private static func audit(_ path: String?, _ log: Log) throws(ServerFault) -> Audit {
        guard let path else { return Audit(log: log) }
        do {
            return Audit(log: log, file: try AuditFile(path: path, log: log))
        } catch {
            throw .auditLog(path: path, error)
        }
    }

    /// The keys of bearer tokens wait in the loops' mailboxes before anybody can connect.
    private func addTokens(_ configuration: ServerConfiguration) throws(ServerFault) {
        guard let settings = configuration.tokens else { return }
        reloads.add(Reloads.Part(.tokens, files: [settings.keysFile]) { [shared] in shared.broadcast(.tokens(try TokenVerifier(settings))) })
        do {
            shared.broadcast(.tokens(try TokenVerifier(settings)))
        } catch {
            throw .tokens(error)
        }
    }

    /// The web client's files wait in the loops' mailboxes before anybody can connect. They are read anew when somebody asks, and not when one of them
    /// changes: a new version is many files, and half of it is none.
    private func addWeb(_ configuration: ServerConfiguration) throws(ServerFault) {
        guard let path = configuration.webFolder else { return }
        let folder = WebFolder(path: path, limits: configuration.limits)
        reloads.add(Reloads.Part(.web, files: []) { [shared] in shared.broadcast(.web(try folder.read())) })
        do {
            shared.broadcast(.web(try folder.read()))
        } catch {
            throw .web(error)
        }
    }

    /// What is read anew when its files change, or on SIGHUP. Parts are made before their files are read for the first time.
    private func addReloads() {
        reloads.add(Reloads.Part(.tls, files: trust.files) { [trust] in try trust.load() })
        if let file = shared.configuration.policyFile {
            reloads.add(Reloads.Part(.policy, files: [file]) { [shared] in shared.broadcast(.policy(try PolicyFile.read(file))) })
        } else if shared.configuration.policy == AccessPolicy() {
            log.warning("no_policy", [("consequence", "nobody may join a room: name a policy file by the key 'policy'")])
        }
    }

    private func start(_ configuration: ServerConfiguration, _ context: TLSContext) throws(ServerFault) {
        // All loops listen before any accepts: a fault here leaves nothing half started.
        var sockets: [[LoopListener]] = []
        var bound: [SocketAddress] = []
        for loop in 0..<configuration.loops {
            var listeners: [LoopListener] = []
            for (place, wanted) in (configuration.listen + configuration.proxies.listen).enumerated() {
                let address = loop == 0 ? wanted : bound[place]
                do throws(SystemFault) {
                    let given = try inherited.descriptor(for: wanted)
                    if given == nil, loop == 0, configuration.loops > 1, wanted.port != 0 { try Server.checkIsFree(wanted) }
                    // Loops share an inherited socket: its queue outlives the process.
                    let descriptor: FileDescriptor
                    if let given {
                        descriptor = given
                    } else {
                        descriptor = try Socket.listen(
                            on: address, backlog: Server.backlog, reusePort: configuration.loops > 1, calls: .linux)
                    }
                    setCongestionControl(descriptor, configuration.congestionControl)
                    if loop == 0 { bound.append(try Socket.localAddress(of: descriptor, calls: .linux)) }
                    listeners.append(LoopListener(try Listener(descriptor, calls: .linux), isPlaintext: place >= configuration.listen.count))
                } catch {
                    throw .listen(wanted, error)
                }
            }
            sockets.append(listeners)
        }
        addresses = Array(bound.prefix(configuration.listen.count))
        proxyAddresses = Array(bound.dropFirst(configuration.listen.count))
        do {
            for worker in 0..<configuration.audioWorkers {
                audioThreads.append(try LoopThread(name: "segue-audio-\(worker)") { [shared] in Server.runAudioWorker(worker, shared) })
            }
            if let settings = configuration.cluster, let gateway = shared.gateway {
                gatewayThread = try LoopThread(name: "segue-cluster") { [shared] in Server.runGateway(gateway, settings, shared) }
            }
            liveThread = try LoopThread(name: "segue-live") { [shared] in
                var worker = LiveWorker(shared)
                worker.run()
            }
            for index in 0..<configuration.loops {
                let seed = LoopSeed(index: index, shared: shared, context: context, listeners: sockets[index])
                threads.append(try LoopThread(name: "segue-loop-\(index)") { seed.run() })
            }
        } catch {
            for mailbox in shared.mailboxes { _ = mailbox.post(.stop) }
            shared.live.stop()
            throw .system(error)
        }
    }

    /// Of the connections that a listener accepts. Where the kernel refuses it the machine's own serves, and that is told once and counted.
    private func setCongestionControl(_ descriptor: FileDescriptor, _ name: String) {
        guard !name.isEmpty else { return }
        do throws(SystemFault) {
            try Socket.setCongestionControl(descriptor, name, calls: .linux)
        } catch {
            guard shared.readiness.countRefusedCongestionControl() == 1 else { return }
            log.warning("congestion_control_refused", [("name", name), ("fault", "\(error)"), ("consequence", "the machine's own serves")])
        }
    }

    /// Listeners that share a port among loops would share it with another relay too, and clients would be split between the two.
    private static func checkIsFree(_ address: SocketAddress) throws(SystemFault) {
        let probe = try Socket.listen(on: address, backlog: 1, reusePort: false, calls: .linux)
        SystemCalls.linux.close(probe)
    }

    /// Supervises until a signal ends the relay and its loops have ended: SIGTERM and SIGINT drain (a second one stops at once), SIGUSR1 takes
    /// that back, SIGHUP reloads.
    package func supervise() {
        // Changes of files are told at once; the look from time to time is for those that are not.
        // -1: poll(2) leaves it out.
        var waits = [signals.descriptor.number, reloads.descriptor, shared.commands.wake.descriptor.number, agent?.descriptor.number ?? -1].map {
            pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
        }
        var isDraining = false
        var isSignalled = false
        manager.tell("READY=1\nSTATUS=serving")
        while true {
            let pause = min(shared.configuration.reloadCheckMilliseconds, isDraining ? 50 : .max, manager.heartbeatMilliseconds ?? .max)
            _ = unsafe poll(&waits, nfds_t(waits.count), Int32(clamping: pause))
            manager.beat(turns: shared.board.snapshot().map(\.iterations), at: MonotonicClock.now())
            agent?.answer { [shared] in
                BalancerWeight.agentLine(isDraining: shared.readiness.isDraining, isReady: shared.isReady, percent: shared.balancerWeight)
            }
            reloads.settle()
            while let signal = try? signals.next(calls: .linux) {
                switch signal {
                case SIGHUP:
                    manager.tell("RELOADING=1\nMONOTONIC_USEC=\(MonotonicClock.now().nanoseconds(since: .zero) / 1_000)")
                    reloads.run(all: true, because: "signal")
                    manager.tell("READY=1")
                    shared.audit.reopen()
                case SIGUSR1:
                    if isDraining { cancelDrain(because: "signal") }
                    (isDraining, isSignalled) = (false, false)
                default:
                    log.info(isSignalled ? "stopping" : "draining", [("signal", "\(signal)")])
                    if isSignalled { shared.broadcast(.stop) } else { drain() }
                    (isDraining, isSignalled) = (true, true)
                }
            }
            for command in shared.commands.take() {
                switch command {
                case .reload: reloads.run(all: true, because: "admin")
                case .drain where !isDraining:
                    log.info("draining", [("because", "admin")])
                    drain()
                    isDraining = true
                case .drain: break
                case .cancelDrain:
                    if isDraining { cancelDrain(because: "admin") }
                    (isDraining, isSignalled) = (false, false)
                }
            }
            if isDraining, shared.endedLoops.load(ordering: .acquiring) == shared.loops { break }
            if !isDraining {
                reloads.run(all: false, because: "files")
                trust.watchStaples()
            }
        }
        for thread in threads { thread.join() }
        stopWorkers()
        shared.pairWorker.stop()
        shared.audit.stop()
        log.info("stopped")
    }

    /// What loops have asked of them is nobody's any more.
    private func stopWorkers() {
        shared.live.stop()
        liveThread?.join()
        liveThread = nil
        for worker in shared.loops..<shared.mailboxes.count { _ = shared.mailboxes[worker].post(.stop) }
        for thread in audioThreads { thread.join() }
        audioThreads = []
        gatewayThread?.join()
        gatewayThread = nil
    }

    private static func runGateway(_ index: Int, _ settings: ClusterSettings, _ shared: Shared) {
        do {
            try ClusterGateway(shared: shared, settings: settings, index: index).run()
        } catch {
            shared.log.error("cluster_failed", [("fault", "\(error)")])
        }
    }

    private static func runAudioWorker(_ worker: Int, _ shared: Shared) {
        do {
            try AudioWorker(index: shared.loops + worker, shared: shared).run()
        } catch {
            shared.log.error("audio_worker_failed", [("worker", "\(worker)"), ("fault", "\(error)")])
        }
    }

    /// Drains as SIGTERM does, for a process that holds the relay beside other things; ``stop()`` waits for the end.
    package func drain() {
        shared.readiness.setDraining(true)
        // A little more than the drain: the manager is not to end it before.
        manager.tell("STOPPING=1\nSTATUS=draining\nEXTEND_TIMEOUT_USEC=\((shared.configuration.drainMilliseconds + 10_000) * 1_000)")
        shared.broadcast(.drain(deadlineMilliseconds: shared.configuration.drainMilliseconds))
    }

    /// The relay stays: whoever has not gone yet may.
    package func cancelDrain(because cause: String) {
        log.info("drain_cancelled", [("because", cause)])
        manager.tell("READY=1\nSTATUS=serving")
        shared.readiness.setDraining(false)
        shared.broadcast(.cancelDrain)
    }

    /// Ends the loops at once, unless they have ended by themselves, and waits for them.
    package func stop() {
        shared.broadcast(.stop)
        for thread in threads { thread.join() }
        threads = []
        stopWorkers()
        shared.pairWorker.stop()
        shared.audit.stop()
    }
}

/// What a loop's thread starts with. The loop itself is made on its own thread and never leaves it.
private struct LoopSeed: @unchecked Sendable {  // Safe: handed to one thread once; the listeners are not touched by the maker again.
    let index: Int
    let shared: Shared
    let context: TLSContext
    let listeners: [LoopListener]

    func run() {
        defer { shared.endedLoops.add(1, ordering: .acquiringAndReleasing) }
        do {
            try EventLoop(index: index, shared: shared, context: context, listeners: listeners).run()
        } catch {
            shared.log.error("loop_failed", [("loop", "\(index)"), ("fault", "\(error)")])
        }
    }
}

import Glibc
import LinkNetwork
import Reactor
import RelayBase
import RelayClient
import TLSTransport

/// What a scenario plays on: two namespaces, a link between them, and a relay in the first of them.
final class Stage {
    static let relayAddress = "10.99.0.1"
    static let readerAddress = "10.99.0.2"
    static let network = "10.99.0.0/24"
    static let port: UInt16 = 8_443

    /// Where the relay is, and those whose link is of no account.
    let near: NetworkNamespace
    /// Behind the emulated link.
    let far: NetworkNamespace
    let link: EmulatedLinkProcess
    let relay: RelayProcess
    let door: Door

    /// - Parameters:
    ///   - link: options of the emulator.
    ///   - congestionControl: of every connection in both namespaces.
    ///   - limits: of the relay's configuration.
    init(_ options: RealTimeOptions, link linkOptions: [String], congestionControl: String? = nil, limits: [String: Int] = [:]) throws {
        near = NetworkNamespace("\(options.name)-n")
        far = NetworkNamespace("\(options.name)-f")
        var made: [NetworkNamespace] = []
        do {
            for namespace in [near, far] {
                guard try namespace.make() else { throw ScenarioFault("the namespace \(namespace.name) is there already") }
                made.append(namespace)
            }
            link = try EmulatedLinkProcess(options, near, far, linkOptions)
            do {
                if let congestionControl { try Stage.setCongestionControl(congestionControl, near, far, link) }
                relay = try RelayProcess(options, near, limits)
            } catch {
                link.end()
                throw error
            }
        } catch {
            for namespace in made { try? namespace.delete() }
            throw error
        }
        guard let address = SocketAddress(host: Stage.relayAddress, port: Stage.port) else { throw ScenarioFault("an address") }
        door = Door(address: address, host: Stage.relayAddress, credentials: Certificates.credentials(options.folder))
    }

    /// Takes everything down, in order.
    func strike() {
        relay.end()
        link.end()
        for namespace in [near, far] { try? namespace.delete() }
    }

    /// By the route: a namespace's default can only be one that every user may choose, which not all are.
    private static func setCongestionControl(
        _ name: String, _ near: NetworkNamespace, _ far: NetworkNamespace, _ link: EmulatedLinkProcess
    ) throws {
        for (namespace, device, address) in [(near, link.nearDevice, Stage.relayAddress), (far, link.farDevice, Stage.readerAddress)] {
            try Program.run([
                "ip", "-n", namespace.name, "route", "replace", Stage.network, "dev", device, "proto", "kernel", "scope", "link", "src", address,
                "congctl", name,
            ])
        }
    }

    /// Bytes that the relay's kernel holds towards the far end, sent or not, and which of them were never sent; from ss(8).
    func kernelQueue() throws -> (queued: Int, unsent: Int) {
        let program = try Program(
            ["ip", "netns", "exec", near.name, "ss", "-tinOH", "src", "\(Stage.relayAddress):\(Stage.port)", "dst", Stage.readerAddress],
            output: .pipe)
        var queued = 0
        var unsent = 0
        while let line = program.line(milliseconds: 2_000) {
            let words = line.split(separator: " ")
            // State, Recv-Q, Send-Q, …
            if words.count > 2, let bytes = Int(words[2]) { queued += bytes }
            for word in words where word.hasPrefix("notsent:") { unsent += Int(word.dropFirst(8)) ?? 0 }
        }
        _ = program.wait(milliseconds: 2_000)
        return (queued, unsent)
    }
}

/// The emulator as a child that ends with its input, whatever becomes of this process.
final class EmulatedLinkProcess {
    private let program: Program
    let nearDevice: String
    let farDevice: String

    init(_ options: RealTimeOptions, _ near: NetworkNamespace, _ far: NetworkNamespace, _ linkOptions: [String]) throws {
        let arguments = [
            options.emulator, "--a", "\(near.name):\(Stage.relayAddress)", "--b", "\(far.name):\(Stage.readerAddress)", "--control",
            "--seconds", "600", "--seed", "\(options.seed)",
        ]
        program = try Program(Instruments.prefix + arguments + linkOptions, input: true, output: .pipe)
        guard let words = program.line(milliseconds: 10_000)?.split(separator: " "), words.count == 4, words[0] == "ready" else {
            program.end()
            throw ScenarioFault("the link emulator did not start")
        }
        nearDevice = String(words[1])
        farDevice = String(words[2])
    }

    /// Changes the link now. - Returns: when.
    @discardableResult
    func set(_ changes: String) throws -> MonotonicInstant {
        program.say("set \(changes)")
        guard let words = program.line(milliseconds: 2_000)?.split(separator: " "), words.count == 2, let instant = UInt64(words[1]) else {
            throw ScenarioFault("the link emulator does not obey")
        }
        return MonotonicInstant(nanoseconds: instant)
    }

    /// Bytes inside the link on their way from the relay.
    func bytesDown() throws -> Int {
        program.say("show")
        guard let words = program.line(milliseconds: 2_000)?.split(separator: " "), words.count == 6, let bytes = Int(words[3]) else {
            throw ScenarioFault("the link emulator does not obey")
        }
        return bytes
    }

    func end() { program.end() }
}

/// What measures must not wait for the processor behind what is measured, or behind other work of the machine.
enum Instruments {
    static let prefix = ["nice", "-n", "-15"]

    static func hurry() {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, -15)
    }
}

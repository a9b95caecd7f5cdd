import FoundationEssentials
import Glibc
import Reactor
import RelayBase
import RelayServer

/// Whether the machine gives what the relay needs.
enum CheckSystem {
    private static let listenBacklog: Int32 = 4_096
    /// Besides a descriptor for each connection: listeners, event descriptors, files being read.
    private static let descriptorsReserved = 128

    static func addresses(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        // Held until all are tried, as the relay does: two of them may be in each other's way.
        var held: [(address: SocketAddress, descriptor: FileDescriptor)] = []
        defer { for one in held { SystemCalls.linux.close(one.descriptor) } }
        let wanted = configuration.listen.map { ("listen", $0) } + configuration.proxies.listen.map { ("proxies.listen", $0) }
        for (key, address) in wanted {
            do throws(SystemFault) {
                held.append((address, try Socket.listen(on: address, backlog: 1, reusePort: false, calls: .linux)))
                report.add(.ok, key, "\(address) is free")
            } catch {
                let other = held.first { $0.address.port == address.port && address.port != 0 }?.address
                add(error, key, address, besides: error.errno == EADDRINUSE ? other : nil, &report)
            }
        }
    }

    private static func add(
        _ error: SystemFault, _ key: String, _ address: SocketAddress, besides other: SocketAddress?, _ report: inout CheckReport
    ) {
        switch error.errno {
        case EADDRINUSE:
            if let other {
                report.add(.fail, key, "\(address) is taken by \(other), which the configuration names too", advice: "One of the two is enough.")
                return
            }
            report.add(.warn, key, "\(address) is taken", advice: "Good if the relay itself runs there; otherwise end the other program.")
        case EACCES:
            report.add(
                .fail, key, "\(address): not permitted",
                advice:
                    "Ports below 1024 need CAP_NET_BIND_SERVICE (AmbientCapabilities= in systemd) or sysctl net.ipv4.ip_unprivileged_port_start.")
        case EADDRNOTAVAIL:
            report.add(.fail, key, "\(address): this machine has no such address", advice: "'ip address' lists those that it has.")
        default:
            report.add(.fail, key, "\(address): \(error)")
        }
    }

    static func descriptors(_ configuration: ServerConfiguration, _ report: inout CheckReport) {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        let wanted = UInt64(configuration.limits.connectionsMax + descriptorsReserved)
        let allowed = UInt64(limit.rlim_cur)
        if allowed >= wanted {
            report.add(.ok, "descriptors", "\(allowed) may be open, enough for limits.connectionsMax = \(configuration.limits.connectionsMax)")
        } else {
            report.add(
                .warn, "descriptors", "only \(allowed) may be open; limits.connectionsMax = \(configuration.limits.connectionsMax) needs \(wanted)",
                advice: "Raise it: LimitNOFILE=\(wanted) in systemd, or 'ulimit -n \(wanted)'. Beyond it the relay refuses connections.")
        }
    }

    static func kernel(_ report: inout CheckReport) {
        do throws(SystemFault) {
            let descriptor = try Socket.listen(on: .loopback(port: 0), backlog: 1, reusePort: true, calls: .linux)
            defer { SystemCalls.linux.close(descriptor) }
            try Socket.setNotSentLowWater(descriptor, bytes: 16_384, calls: .linux)
            report.add(.ok, "kernel", "has SO_REUSEPORT and TCP_NOTSENT_LOWAT")
        } catch {
            report.add(.fail, "kernel", "SO_REUSEPORT or TCP_NOTSENT_LOWAT: \(error)", advice: "The relay needs Linux 3.12 or newer.")
        }
        let path = "/proc/sys/net/core/somaxconn"
        guard let data = try? Data(contentsOf: URL(filePath: path)),
            let value = Int32(String(decoding: data, as: UTF8.self).filter(\.isNumber))
        else { return }
        if value >= listenBacklog {
            report.add(.ok, "kernel", "net.core.somaxconn is \(value)")
        } else {
            report.add(
                .warn, "kernel", "net.core.somaxconn is \(value): bursts of connections are lost",
                advice: "sysctl -w net.core.somaxconn=\(listenBacklog)")
        }
    }
}

/// Whether the libraries that the program runs with are new enough.
enum CheckLibraries {
    private static let requirements: [(name: String, version: String, minimum: [Int], package: String)] = [
        ("OpenSSL", SegueVersion.openSSL, [3, 0, 0], "libssl3"),
        ("nghttp2", SegueVersion.nghttp2, [1, 52, 0], "libnghttp2-14"),
        ("Opus", SegueVersion.opus, [1, 3, 0], "libopus0"),
    ]

    static func check(_ report: inout CheckReport) {
        for requirement in requirements {
            let minimum = requirement.minimum.map(String.init).joined(separator: ".")
            guard let found = numbers(in: requirement.version) else {
                report.add(.warn, "library", "the version of \(requirement.name) is not known (\(requirement.version)); \(minimum) is needed")
                continue
            }
            let isEnough = !found.lexicographicallyPrecedes(requirement.minimum)
            report.add(
                isEnough ? .ok : .fail, "library",
                "\(requirement.name) \(found.map(String.init).joined(separator: ".")), at least \(minimum) is needed",
                advice: isEnough ? nil : "Update the Debian package \(requirement.package).")
        }
    }

    /// The first dotted number of a text: `OpenSSL 3.0.17 1 Jul 2025` is 3, 0, 17; `libopus 1.3.1-dirty` is 1, 3, 1.
    static func numbers(in text: String) -> [Int]? {
        for word in text.split(whereSeparator: { !($0.isASCII && ($0.isNumber || $0 == ".")) }) where word.contains(".") {
            let parts = word.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) }
            let numbers = parts.compactMap(\.self)
            if numbers.count == parts.count { return numbers }
        }
        return nil
    }
}

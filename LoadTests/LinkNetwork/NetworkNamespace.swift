import CNamespaces
import Glibc

/// Why a namespace, a device or a program could not be had.
package struct NetworkFault: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }

    static func system(_ what: String) -> NetworkFault {
        let code = errno
        return NetworkFault("\(what): \(unsafe String(cString: strerror(code)))")
    }
}

/// A network namespace by its name under /run/netns (ip-netns(8)).
package struct NetworkNamespace: Sendable, Equatable {
    package let name: String

    package init(_ name: String) {
        self.name = name
    }

    private var path: String { "/run/netns/\(name)" }

    package var exists: Bool { unsafe access(path, F_OK) == 0 }

    /// Makes it, with its loopback up. - Returns: false when it was there before.
    package func make() throws(NetworkFault) -> Bool {
        guard !exists else { return false }
        try Program.run(["ip", "netns", "add", name])
        try Program.run(["ip", "-n", name, "link", "set", "lo", "up"])
        return true
    }

    package func delete() throws(NetworkFault) {
        try Program.run(["ip", "netns", "del", name])
    }

    /// Runs `body` with the calling thread inside: sockets and devices made there stay there.
    package func enter<Value>(_ body: () throws -> Value) throws -> Value {
        let home = try Self.open("/proc/thread-self/ns/net")
        defer { close(home) }
        let there = try Self.open(path)
        defer { close(there) }
        guard cnamespaces_enter(there) == 0 else { throw NetworkFault.system("entering the namespace \(name)") }
        defer {
            let result = cnamespaces_enter(home)
            precondition(result == 0, "the way back to the own namespace is open")
        }
        return try body()
    }

    private static func open(_ path: String) throws(NetworkFault) -> Int32 {
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .system(path) }
        return descriptor
    }
}

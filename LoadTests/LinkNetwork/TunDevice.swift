import CNamespaces
import Glibc

/// A network device of a namespace whose packets a program reads and writes (Documentation/networking/tuntap in Linux). It is there as long as this value.
package struct TunDevice: ~Copyable {
    package static let mtu = 1_500
    package let descriptor: Int32
    package let name: String

    /// Makes the device, gives it its address in a network of 256, and brings it up.
    package init(name: String, in namespace: NetworkNamespace, address: String) throws {
        descriptor = try TunDevice.make(name, namespace, address)
        self.name = name
    }

    private static func make(_ name: String, _ namespace: NetworkNamespace, _ address: String) throws -> Int32 {
        let descriptor = try namespace.enter {
            let descriptor = unsafe open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC)
            guard descriptor >= 0 else { throw NetworkFault.system("/dev/net/tun") }
            return descriptor
        }
        do {
            try namespace.enter {
                guard unsafe cnamespaces_attach_tun(descriptor, name) == 0 else { throw NetworkFault.system("the TUN device \(name)") }
            }
            try Program.run(["ip", "-n", namespace.name, "address", "add", "\(address)/24", "dev", name])
            try Program.run(["ip", "-n", namespace.name, "link", "set", name, "mtu", "\(TunDevice.mtu)", "up"])
        } catch {
            close(descriptor)
            throw error
        }
        return descriptor
    }

    deinit {
        close(descriptor)
    }
}

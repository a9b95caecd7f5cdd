import BenchmarkSupport
import COpenSSL
import CertificateAuthority
import RelayBase
import TLSTransport

/// AES-128-GCM as a record of TLS 1.3 has it (RFC 8446 §5.2), by the library's cipher alone.
@safe
final class BareCipher {
    private let context: OpaquePointer
    private var nonce: UInt64 = 0
    private var record = [UInt8](repeating: 0, count: (16 << 10) + 64)

    init() throws {
        guard let made = unsafe EVP_CIPHER_CTX_new() else { throw BenchmarkFault("EVP_CIPHER_CTX_new") }
        unsafe context = made
        let key = [UInt8](repeating: 7, count: 16)
        guard unsafe EVP_EncryptInit_ex(made, EVP_aes_128_gcm(), nil, key, nil) == 1 else { throw BenchmarkFault("EVP_EncryptInit_ex") }
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
    }

    func seal(_ plaintext: UnsafeRawBufferPointer) {
        nonce &+= 1
        var written: Int32 = 0
        let start = unsafe plaintext.assumingMemoryBound(to: UInt8.self).baseAddress
        let count = Int32(plaintext.count)
        unsafe record.withUnsafeMutableBufferPointer { record in
            guard let target = record.baseAddress else { return }
            var vector = (nonce, UInt32(0))
            let isReady = unsafe withUnsafeBytes(of: &vector) { vector in
                unsafe EVP_EncryptInit_ex(context, nil, nil, nil, vector.assumingMemoryBound(to: UInt8.self).baseAddress)
            }
            let isSealed =
                unsafe isReady == 1 && EVP_EncryptUpdate(context, nil, &written, target, 5) == 1
                && EVP_EncryptUpdate(context, target + 5, &written, start, count) == 1
                && EVP_EncryptFinal_ex(context, target + 5 + Int(count), &written) == 1
                && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, target + 5 + Int(count)) == 1
            precondition(isSealed, "a record is sealed")
        }
    }
}

/// TLS connections in memory, whose handshake is over.
struct SealedConnections {
    let output = TLSOutput()
    let machines: [TLSMachine]

    init(_ count: Int, folder: String) throws {
        let state = try DevelopmentState.prepare(directory: folder + "/state", now: UnixTime(seconds: WallClock.system.seconds()))
        guard let alice = state.clients.first, let clientKey = alice.certificate.paths.key, let serverKey = state.serverECDSA.paths.key else {
            throw BenchmarkFault("no certificates")
        }
        var server = TLSConfiguration()
        server.keyPairs = [.init(certificateFile: state.serverECDSA.paths.certificate, keyFile: serverKey)]
        server.authorityFiles = [state.trustStorePath]
        server.revocationListFiles = [state.revocationListPath]
        var client = server
        client.keyPairs = [.init(certificateFile: alice.certificate.paths.certificate, keyFile: clientKey)]
        let (serverContext, clientContext) = (try TLSContext(server: server, tickets: nil), try TLSContext(client: client))
        let output = output
        machines = try (0..<count).map { _ in
            let clientOutput = TLSOutput()
            let clientMachine = try TLSMachine(connecting: clientContext, to: .address("127.0.0.1"), session: nil, output: clientOutput)
            let machine = try TLSMachine(accepting: serverContext, output: output)
            for _ in 0..<4 where !machine.isHandshakeComplete {
                try Self.step(clientMachine, from: output)
                try Self.step(machine, from: clientOutput)
            }
            guard machine.isHandshakeComplete else { throw BenchmarkFault("a handshake in memory does not end") }
            output.reset()
            return machine
        }
    }

    /// Carries a handshake on with what the other end has written.
    private static func step(_ machine: TLSMachine, from other: TLSOutput) throws {
        let flight = unsafe Array(other.bytes.readable)
        other.reset()
        guard !machine.isHandshakeComplete else { return }
        try unsafe flight.withUnsafeBytes { bytes in
            var input = unsafe bytes
            _ = try unsafe machine.handshake(&input)
        }
    }
}

/// Sealing of records.
enum SealMicros {
    static func all(_ folder: String) throws -> [Micro] {
        let connection = try SealedConnections(1, folder: folder)
        let cipher = try BareCipher()
        return [160, 1_200, 16 << 10].map { count in
            let block = Block(count: count)
            return Micro(
                name: "TLS seal \(count)", unit: "record", floorName: "AES-128-GCM",
                work: { units in
                    for _ in 0..<units {
                        try? unsafe connection.machines[0].write(UnsafeRawBufferPointer(block.bytes))
                        connection.output.reset()
                    }
                },
                floor: { units in for _ in 0..<units { unsafe cipher.seal(UnsafeRawBufferPointer(block.bytes)) } })
        }
    }
}

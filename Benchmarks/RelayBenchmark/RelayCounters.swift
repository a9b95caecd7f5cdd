import BenchmarkSupport
import Glibc
import LoadReport

/// The relay's own counters, asked of its metrics endpoint by curl.
struct RelayCounters {
    private let samples: PrometheusSamples

    /// Waits until the counters are of now: loops publish them four times a second.
    init(_ relay: RelayProcess) throws(BenchmarkFault) {
        usleep(350_000)
        let state = relay.folder + "/state"
        let command =
            "curl --silent --fail --max-time 10 --cacert \(state)/ca.pem --cert \(state)/clients/alice.pem --key \(state)/clients/alice-key.pem "
            + "https://localhost:\(relay.port)/metrics"
        guard let pipe = unsafe popen(command, "r") else { throw BenchmarkFault("curl could not be started") }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe fread(&chunk, 1, chunk.count, pipe)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        guard unsafe pclose(pipe) == 0 else { throw BenchmarkFault("the relay's metrics could not be read by curl") }
        samples = PrometheusSamples(String(decoding: bytes, as: UTF8.self))
    }

    func since(_ earlier: RelayCounters, _ name: String) throws(BenchmarkFault) -> Double {
        guard let now = samples[name], let before = earlier.samples[name] else { throw BenchmarkFault("the relay has no \(name)") }
        return now - before
    }
}

import JOSE
import RelayRooms
import Signalling
import TLSTransport

/// Pairing as one loop does it for the whole process: the broker, what is signed, and who waits for the disk.
final class PairDesk {
    /// The loop that it lives on.
    static let loop = 0

    var broker: PairBroker
    let signer: PairSigner
    let worker: PairWorker
    /// The system's: codes must not be guessed.
    var generator = SystemRandomNumberGenerator()
    private var signed: [String: PairSigner.Signed] = [:]
    private(set) var version: UInt64 = 0
    /// Revocations are answered when they would survive a crash.
    private var waiting: [(version: UInt64, answer: (_ isOnDisk: Bool) -> Void)] = []

    private static let signedMax = 4_096

    init(_ state: PairingState, _ worker: PairWorker, policy: AccessPolicy, limits: PairLimits = PairLimits()) {
        signer = state.signer
        self.worker = worker
        broker = PairBroker(policy: policy, ledger: state.ledger, limits: limits) { SHA256Digest(hashing: $0).hex }
    }

    // MARK: Signatures

    /// The pairs that would have to be signed now.
    func unsigned(_ views: [PairView], now: Int64) -> [PairView] {
        views.filter { known($0, now: now) == nil }
    }

    private func known(_ view: PairView, now: Int64) -> PairSigner.Signed? {
        guard let signed = signed[view.id], signed.view == view, signed.renewAt > now else { return nil }
        return signed
    }

    func remember(_ fresh: PairSigner.Signed) {
        if signed.count >= PairDesk.signedMax, signed[fresh.view.id] == nil { signed.removeAll(keepingCapacity: true) }
        signed[fresh.view.id] = fresh
    }

    /// A pair as one of its keys sees it. Signs, unless that has been done; `nil` when the library cannot.
    func info(_ view: PairView, for fingerprint: String, now: Int64) -> RelayMessage.PairInfo? {
        guard let signed = known(view, now: now) ?? (try? signer.sign(view, now: now)) else { return nil }
        remember(signed)
        return RelayMessage.PairInfo(
            pair: view.id, room: view.room.text, basis: .init(view.basis), peer: .init(view.peer(of: fingerprint)),
            expires: view.grant.map { Double($0.expiresAt) * 1_000 }, statement: signed.statement, grant: signed.grant)
    }

    // MARK: Disk

    /// Has the ledger written.
    func store() {
        version += 1
        worker.store(broker.ledger.entries, version: version)
    }

    /// Does something once the ledger that the next ``store()`` hands over is on the disk, or could not be written.
    func whenStored(_ answer: @escaping (_ isOnDisk: Bool) -> Void) {
        waiting.append((version + 1, answer))
    }

    func stored(_ version: UInt64, isOnDisk: Bool) {
        let ready = waiting.prefix { $0.version <= version }
        waiting.removeFirst(ready.count)
        for entry in ready { entry.answer(isOnDisk) }
    }
}

/// What pairing starts with.
struct PairingState: Sendable {
    let signer: PairSigner
    let ledger: PairLedger
    /// Where grants are kept; `nil`: nowhere.
    let grantFile: String?

    private static let signingKeyName = "signing-key.pem"

    /// Reads the state folder. Blocks on the disk: before the relay serves.
    ///
    /// - Parameter folder: `nil`: the key and the grants end with the process.
    static func open(folder: String?, node: String, log: Log) throws(StateFault) -> PairingState {
        guard let folder else {
            log.warning("state_not_kept", [("consequence", "grants end with the relay: name a folder by the key 'state'")])
            let key = try fault(of: signingKeyName) { () throws(SigningKeyFault) in try .ephemeral() }
            return PairingState(signer: PairSigner(key: key, node: node), ledger: PairLedger(), grantFile: nil)
        }
        try StateFolder.prepare(folder)
        let key = try fault(of: folder) { () throws(SigningKeyFault) in try .openOrCreate(path: folder + "/" + signingKeyName) }
        let file = folder + "/" + GrantFile.name
        return PairingState(signer: PairSigner(key: key, node: node), ledger: try GrantFile.read(file, limits: PairLimits()), grantFile: file)
    }

    private static func fault(of path: String, _ make: () throws(SigningKeyFault) -> SigningKey) throws(StateFault) -> SigningKey {
        do throws(SigningKeyFault) {
            return try make()
        } catch {
            throw StateFault(path: path, reason: "\(error)")
        }
    }
}

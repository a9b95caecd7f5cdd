import Glibc
internal import RelayBase

/// What ``SecureConnection/receive()`` found.
@unsafe
package enum Received {
    /// Plaintext in the loop's scratch: the receiver may change it in place, and must be done with it before any connection of the loop receives again.
    case bytes(UnsafeMutableRawBufferPointer)
    /// Nothing more for now.
    case wouldBlock
    /// The peer's stream is over. Clean: it said so (close_notify; on a plaintext listener, FIN). Otherwise something may be missing.
    case end(clean: Bool)
}

/// One connection of one loop: a non-blocking socket, and TLS over it unless a trusted proxy has taken TLS off already.
///
/// The caller owns the descriptor and closes it, after ``discard()``. Nothing here is safe to use from two threads.
@safe
package final class SecureConnection {
    package let descriptor: Int32
    private let machine: TLSMachine?
    private var scratch: TransportScratch
    private let io: SocketIO
    /// Ciphertext that the kernel has not taken.
    private var unsent = ByteQueue()
    /// What was sealed so far, ciphertext, counting from the first handshake message; wraps.
    package private(set) var sealedBytes: UInt64 = 0
    /// Received ciphertext that had to leave the scratch before it was opened.
    private var kept = ByteQueue()
    /// The last read did not fill its buffer, so the socket was empty then.
    private var readFellShort = false

    /// - Parameter machine: `nil`: a plaintext connection behind a trusted proxy.
    package init(descriptor: Int32, machine: TLSMachine?, scratch: TransportScratch, io: SocketIO = .linux) {
        self.descriptor = descriptor
        self.machine = machine
        self.scratch = scratch
        self.io = io
    }
}

// MARK: - Receiving

extension SecureConnection {
    /// Carries the handshake on with what the socket has. Call it when the socket becomes readable, until it says `complete`; then go on with ``receive()``
    /// at once, because application data may have come along.
    ///
    /// A throw leaves the alert for the peer sent, as far as the kernel took it; close the socket.
    package func handshake() throws(TransportFault) -> HandshakeProgress {
        guard let machine, !machine.isHandshakeComplete else { return .complete }
        claimScratch()
        while true {
            let progress: HandshakeProgress
            do throws(TLSFault) {
                progress = try kept.isEmpty ? unsafe machine.handshake(&scratch.window) : handshakeFromKept(machine)
            } catch {
                // The fault is what matters; whether its alert still gets out is up to the network.
                try? transmit()
                throw .tls(error)
            }
            try transmit()
            if progress == .complete {
                settleScratch()
                return .complete
            }
            switch try fill() {
            case .data: continue
            case .wouldBlock: return .inProgress
            case .end: throw .tls(.truncated)
            }
        }
    }

    /// What comes before TLS on this connection, as it is: a proxy's header. Whatever of it is TLS already must be given back by ``giveBack(_:)``.
    package func receivePrelude() throws(TransportFault) -> Received {
        try unsafe receivePlain()
    }

    /// Bytes that ``receivePrelude()`` gave and that are the peer's TLS.
    package func giveBack(_ bytes: UnsafeRawBufferPointer) {
        unsafe kept.append(bytes)
    }

    private func handshakeFromKept(_ machine: TLSMachine) throws(TLSFault) -> HandshakeProgress {
        var input = unsafe kept.readable
        let before = input.count
        defer {
            kept.consume(before - input.count)
            kept.releaseIfEmpty()
        }
        return try unsafe machine.handshake(&input)
    }

    /// The next plaintext. Call it until it answers other than `bytes`; a caller that stops earlier (to be fair to other connections, or because it cannot take
    /// more) looks at ``hasBufferedInput`` later, because the socket will not report those bytes again.
    package func receive() throws(TransportFault) -> Received {
        guard let machine else { return try unsafe receivePlain() }
        claimScratch()
        while true {
            // Nothing lent means nothing to open: every record is opened whole, so the library holds no plaintext back.
            if unsafe !scratch.window.isEmpty || !kept.isEmpty {
                switch try open(machine) {
                case .bytes(let count):
                    settleScratch()
                    return unsafe .bytes(UnsafeMutableRawBufferPointer(rebasing: scratch.plaintext[..<count]))
                case .closeNotify:
                    dropInput()
                    return unsafe .end(clean: true)
                case .needsInput: break
                }
            }
            switch try fill() {
            case .data: continue
            case .wouldBlock: return unsafe .wouldBlock
            case .end: return unsafe .end(clean: machine.endIsClean)
            }
        }
    }

    /// Received bytes are waiting that the socket will not report again.
    package var hasBufferedInput: Bool {
        !kept.isEmpty || scratch.holder === self
    }

    /// Opens from what was kept, else from the scratch; sends what the library has to say in return.
    private func open(_ machine: TLSMachine) throws(TransportFault) -> TLSRead {
        let result: TLSRead
        do throws(TLSFault) {
            if kept.isEmpty {
                result = try unsafe machine.read(&scratch.window, into: scratch.plaintext)
            } else {
                var input = unsafe kept.readable
                let before = input.count
                defer {
                    kept.consume(before - input.count)
                    kept.releaseIfEmpty()
                }
                result = try unsafe machine.read(&input, into: scratch.plaintext)
            }
        } catch {
            try? transmit()
            throw .tls(error)
        }
        if !scratch.output.bytes.isEmpty { try transmit() }
        return result
    }

    private enum Filling {
        case data
        case wouldBlock
        case end
    }

    /// Receives into the scratch, whose window is used up.
    private func fill() throws(TransportFault) -> Filling {
        if readFellShort {
            readFellShort = false
            if scratch.readiness == .levelTriggered { return .wouldBlock }
        }
        switch unsafe io.receive(descriptor, into: scratch.ciphertext) {
        case .done(0): return .end
        case .done(let count):
            unsafe scratch.window = unsafe UnsafeRawBufferPointer(rebasing: scratch.ciphertext[..<count])
            readFellShort = unsafe count < scratch.ciphertext.count
            return .data
        case .wouldBlock: return .wouldBlock
        case .failed(let code): throw .system(operation: .receive, errno: code)
        }
    }

    private func receivePlain() throws(TransportFault) -> Received {
        if readFellShort {
            readFellShort = false
            if scratch.readiness == .levelTriggered { return unsafe .wouldBlock }
        }
        switch unsafe io.receive(descriptor, into: scratch.plaintext) {
        case .done(0): return unsafe .end(clean: true)
        case .done(let count):
            readFellShort = unsafe count < scratch.plaintext.count
            return unsafe .bytes(UnsafeMutableRawBufferPointer(rebasing: scratch.plaintext[..<count]))
        case .wouldBlock: return unsafe .wouldBlock
        case .failed(let code): throw .system(operation: .receive, errno: code)
        }
    }

    /// Makes the scratch this connection's: whoever left bytes in it takes them home first.
    private func claimScratch() {
        let holder = scratch.holder
        scratch.holder = nil
        guard holder !== self else { return }
        if let holder { unsafe holder.kept.append(scratch.window) }
        // Without a holder the window is what a failed connection left behind.
        unsafe scratch.window = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// Remembers whose the rest of the window is, if there is one.
    private func settleScratch() {
        scratch.holder = unsafe scratch.window.isEmpty ? nil : self
    }

    private func dropInput() {
        if scratch.holder === self { scratch.holder = nil }
        unsafe scratch.window = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        kept.removeAll()
        kept.releaseIfEmpty()
    }
}

// MARK: - Sending

extension SecureConnection {
    /// Seals `plaintext` into as few records as hold it and sends them with one call. What the kernel does not take waits in this connection's own memory:
    /// look at ``unsentCount`` before sealing more for a slow peer.
    package func send(_ plaintext: UnsafeRawBufferPointer) throws(TransportFault) {
        guard let machine, unsent.isEmpty, scratch.output.bytes.isEmpty, plaintext.count <= TLSMachine.recordBytesMax else {
            try unsafe seal(plaintext)
            try transmit()
            return
        }
        let sent: RecordIO.Immediate?
        do throws(TLSFault) {
            sent = try unsafe machine.write(plaintext, sendingTo: descriptor, by: io)
        } catch {
            try? transmit()
            throw .tls(error)
        }
        switch sent?.outcome {
        case nil: try transmit()
        case .done(let count):
            sealedBytes &+= UInt64(count)
            guard !scratch.output.bytes.isEmpty else { return }
            // What was sent whole was something that the library had to say first.
            if sent?.isWhole == true { try transmit() } else { keepSealed() }
        case .wouldBlock: keepSealed()
        case .failed(let code):
            scratch.output.reset()
            throw .system(operation: .send, errno: code)
        }
    }

    /// The kernel is full: what was sealed waits.
    private func keepSealed() {
        sealedBytes &+= UInt64(scratch.output.bytes.count)
        unsafe unsent.append(scratch.output.bytes.readable)
        scratch.output.reset()
    }

    /// Seals without sending yet, so that several pieces leave with one call of ``transmit()``, which must follow before another connection of the loop acts.
    package func seal(_ plaintext: UnsafeRawBufferPointer) throws(TransportFault) {
        guard let machine else {
            unsafe scratch.output.bytes.append(plaintext)
            return
        }
        do throws(TLSFault) {
            try unsafe machine.write(plaintext)
        } catch {
            try? transmit()
            throw .tls(error)
        }
    }

    /// Sends what was sealed, with one call, behind whatever is still unsent.
    package func transmit() throws(TransportFault) {
        let sealed = scratch.output.bytes.count
        guard sealed > 0 else { return }
        sealedBytes &+= UInt64(sealed)
        defer { scratch.output.reset() }
        // The kernel is full: it reports when there is room again, and ``flush()`` follows.
        guard unsent.isEmpty else {
            unsafe unsent.append(scratch.output.bytes.readable)
            return
        }
        let taken = try unsafe sendOnce(scratch.output.bytes.readable)
        if taken < sealed { unsafe unsent.append(UnsafeRawBufferPointer(rebasing: scratch.output.bytes.readable[taken...])) }
    }

    /// Ciphertext waiting for the socket to become writable.
    package var unsentCount: Int { unsent.count }
    package var hasUnsent: Bool { !unsent.isEmpty }

    /// Sends what is unsent, with one call. True when nothing is left.
    package func flush() throws(TransportFault) -> Bool {
        guard !unsent.isEmpty else { return true }
        unsent.consume(try unsafe sendOnce(unsent.readable))
        unsent.releaseIfEmpty()
        return unsent.isEmpty
    }

    /// Says that no more will be sent (close_notify). The caller closes the socket once ``hasUnsent`` is false, or when it loses patience.
    package func shutdown() throws(TransportFault) {
        machine?.shutdown()
        try transmit()
    }

    /// Forgets everything received and unsent; for a connection whose descriptor is about to be closed.
    package func discard() {
        if scratch.holder === self || !kept.isEmpty { dropInput() }
        unsent.removeAll()
        unsent.releaseIfEmpty()
    }

    private func sendOnce(_ bytes: UnsafeRawBufferPointer) throws(TransportFault) -> Int {
        switch unsafe io.send(descriptor, bytes) {
        case .done(let count): return count
        case .wouldBlock: return 0
        case .failed(let code): throw .system(operation: .send, errno: code)
        }
    }
}

// MARK: - Moving to another loop

extension SecureConnection {
    /// Takes everything home that is in the loop's scratch: nothing here may be used then until ``joinLoop(_:)``.
    package func leaveLoop() {
        claimScratch()
        precondition(scratch.output.bytes.isEmpty, "what was sealed must have been sent before a connection leaves its loop")
        if unsafe !scratch.window.isEmpty { unsafe kept.append(scratch.window) }
        unsafe scratch.window = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
    }

    /// The connection is of the loop that takes turns with `scratch` from now on.
    package func joinLoop(_ scratch: TransportScratch) {
        self.scratch = scratch
        machine?.joinLoop(scratch.output)
        readFellShort = false
    }
}

// MARK: - What was agreed

extension SecureConnection {
    package var isSecure: Bool { machine != nil }
    /// `nil` before the handshake is complete, and on a plaintext listener.
    package var negotiated: TLSNegotiated? { machine?.negotiated }
    /// `nil`: the peer has no certificate.
    package var peerIdentity: PeerIdentity? { machine?.peerIdentity }
    /// See ``TLSMachine/client``.
    package var client: ForwardedPeer? { machine?.client }
    /// See ``TLSMachine/session``.
    package var session: TLSSession? { machine?.session }

    /// See ``TLSMachine/peerFault(under:)``; a plaintext connection has no certificate to be measured.
    package func peerFault(under context: TLSContext) -> TLSFault? { machine?.peerFault(under: context) }
    /// See ``TLSMachine/isListed(under:)``.
    package func isListed(under context: TLSContext) -> Bool { machine?.isListed(under: context) ?? false }
    package func isStillTrusted(under context: TLSContext) -> Bool { peerFault(under: context) == nil }
}

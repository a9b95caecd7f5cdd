import Glibc

/// What machines carry, from what single acts cost.
package struct CapacityModel: Sendable {
    package let figures: CostFigures

    package init(_ figures: CostFigures) {
        self.figures = figures
    }

    /// What a room (or a listener) takes of a node in a second.
    package struct Demand: Sendable, Equatable {
        /// Processor time.
        package var coreSeconds: Double
        package var memoryBytes: Double
        /// On the wire, in bits.
        package var egressBits: Double
    }

    package enum Bound: String, Sendable, Equatable {
        case processor
        case memory
        case network
    }

    package struct Capacity: Sendable, Equatable {
        /// Rooms that are there whole; of one large room 1.
        package var rooms: Double
        package var clients: Double
        package var bound: Bound
        package var egressGigabitsPerSecond: Double
        package var memoryGiB: Double
    }

    // MARK: Demand

    /// How many frames go in one send to a receiver that is due `framesPerSecond`: the first waits for the hold, and all that come meanwhile join it.
    package func framesPerSend(framesPerSecond: Double) -> Double {
        1 + framesPerSecond * figures.holdMicroseconds / 1e6
    }

    /// Of the other `loops - 1` loops of a node, how many have one of `receivers` that are spread at random.
    package static func otherLoops(loops: Double, receivers: Double) -> Double {
        guard loops > 1 else { return 0 }
        return (loops - 1) * (1 - pow(1 - 1 / loops, receivers))
    }

    /// What its publishers' frames cost where they come in, without what they cost where they go out.
    package func ingress(_ workload: Workload, loops: Double, receiversFactor: Double = 1) -> Double {
        workload.streams.reduce(0) { sum, stream in
            let frames = stream.active * stream.framesPerSecond
            let come = figures.nanosecondsPerReceive + figures.nanosecondsPerFrameIn + stream.bytesPerFrame * figures.nanosecondsPerByte
            let cross = CapacityModel.otherLoops(loops: loops, receivers: stream.receiversEach * receiversFactor) * figures.nanosecondsPerFrameToLoop
            return sum + frames * (come + cross) / 1e9
        }
    }

    /// Sends in a second to all members.
    package func sends(_ workload: Workload) -> Double {
        guard workload.members > 0, workload.framesOut > 0 else { return 0 }
        let framesEach = workload.framesOut / workload.members
        let bytesEach = workload.bytesOut / workload.members
        let held = framesEach / framesPerSend(framesPerSecond: framesEach)
        return workload.members * max(held, bytesEach / Assumption.recordBytesMax)
    }

    private func egress(_ workload: Workload) -> Double {
        (sends(workload) * figures.nanosecondsPerSend + workload.framesOut * figures.nanosecondsPerFrameOut
            + workload.bytesOut * figures.nanosecondsPerByte) / 1e9
    }

    /// What members cost by being there.
    private func presence(_ members: Double) -> Double {
        members * (figures.nanosecondsPerIdleConnectionSecond + figures.nanosecondsPerArrival / Assumption.staySeconds) / 1e9
    }

    package func demand(_ workload: Workload, loops: Double) -> Demand {
        let publishing = workload.isOneRoom ? 0 : ingress(workload, loops: loops)
        let lanes = workload.streams.isEmpty || workload.isOneRoom ? 0 : Double(workload.streams.contains { $0.name != "audio" } ? 2 : 1)
        let spread = min(loops, 1 + CapacityModel.otherLoops(loops: loops, receivers: workload.members - 1))
        let pictures = workload.isOneRoom ? 0 : groupsOfPictures(workload) * spread
        return Demand(
            coreSeconds: publishing + egress(workload) + presence(workload.members),
            memoryBytes: workload.members * (figures.bytesPerSession + Assumption.kernelBytesPerConnection)
                + lanes * spread * Assumption.logBytesPerLane + pictures,
            egressBits: wireBytes(workload) * 8)
    }

    private func groupsOfPictures(_ workload: Workload) -> Double {
        workload.streams.filter { $0.name != "audio" }.reduce(0) {
            $0 + $1.active * $1.framesPerSecond * $1.bytesPerFrame * Assumption.groupOfPicturesSeconds
        }
    }

    /// Bytes on the wire in a second, all headers included.
    package func wireBytes(_ workload: Workload) -> Double {
        let sends = sends(workload)
        guard sends > 0 else { return 0 }
        let plain = (workload.bytesOut + workload.framesOut * Assumption.bytesPerMessage) / sends
        let sealed = plain + (plain / Assumption.recordBytesMax).rounded(.up) * Assumption.bytesPerRecord
        return sends * (sealed + (sealed / Assumption.segmentBytes).rounded(.up) * Assumption.bytesPerPacket)
    }

    // MARK: Capacity

    /// What one node carries of a workload, and what bounds it.
    package func capacity(_ workload: Workload, _ node: NodeShape) -> Capacity {
        let demand = demand(workload, loops: node.cores)
        // Of a room that is as large as can be, what its publishers cost comes once.
        let once = workload.isOneRoom ? ingress(workload, loops: node.cores, receiversFactor: .infinity) : 0
        return fill(workload, node, demand, coreSecondsUsed: once, egressBitsUsed: 0)
    }

    /// What `count` nodes carry of a workload together.
    package func capacity(_ workload: Workload, _ node: NodeShape, nodes count: Double) -> Capacity {
        guard workload.isOneRoom, count > 1 else {
            var one = capacity(workload, node)
            one.rooms *= count
            one.clients *= count
            one.egressGigabitsPerSecond *= count
            one.memoryGiB *= count
            return one
        }
        let demand = demand(workload, loops: node.cores)
        let publishers = ingress(workload, loops: node.cores, receiversFactor: .infinity)
        // To each other node a stream goes once, as to one more subscriber.
        let others = count - 1
        let first = fill(
            workload, node, demand, coreSecondsUsed: publishers + others * egress(workload), egressBitsUsed: others * wireBytes(workload) * 8)
        let other = fill(workload, node, demand, coreSecondsUsed: publishers, egressBitsUsed: 0)
        return Capacity(
            rooms: 1, clients: first.clients + others * other.clients, bound: other.bound,
            egressGigabitsPerSecond: first.egressGigabitsPerSecond + others * other.egressGigabitsPerSecond,
            memoryGiB: first.memoryGiB + others * other.memoryGiB)
    }

    private func fill(_ workload: Workload, _ node: NodeShape, _ demand: Demand, coreSecondsUsed: Double, egressBitsUsed: Double) -> Capacity {
        func units(_ there: Double, _ used: Double, _ each: Double) -> Double { each > 0 ? max(0, there - used) / each : .infinity }
        let byProcessor = units(node.cores * Assumption.busyShareMax, coreSecondsUsed, demand.coreSeconds)
        let byMemory = units(node.memoryGiB * 1_073_741_824 * Assumption.memoryShareMax, 0, demand.memoryBytes)
        let byNetwork = units(node.egressGigabitsPerSecond * 1e9 * Assumption.egressShareMax, egressBitsUsed, demand.egressBits)
        let most = min(byProcessor, byMemory, byNetwork)
        let units = most.isFinite ? most.rounded(.down) : 0
        return Capacity(
            rooms: workload.isOneRoom ? 1 : units, clients: units * workload.members,
            bound: most == byProcessor ? .processor : most == byMemory ? .memory : .network,
            egressGigabitsPerSecond: (units * demand.egressBits + egressBitsUsed) / 1e9, memoryGiB: units * demand.memoryBytes / 1_073_741_824)
    }
}

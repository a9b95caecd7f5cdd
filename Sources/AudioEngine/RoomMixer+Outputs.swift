internal import RelayBase

extension RoomMixer {
    /// Adds a listener.
    ///
    /// - Throws: `taken`; `limit`: too many outputs or formats; `channels`; `settings`: a bit rate that Opus has not.
    package mutating func addOutput(_ id: UInt32, _ format: MixFormat) throws(AudioFault) {
        guard outputIndex(id) == nil else { throw .taken }
        guard outputs.count < configuration.outputsMax else { throw .limit }
        let place = try enterClass(of: format)
        outputs.insert(MixOutput(id, format, mixClass: place), at: insertionIndex(of: id))
        packets.reserve(outputs.count + classes.count)
    }

    /// Changes a listener's format, from the next tick on.
    ///
    /// - Throws: as ``addOutput(_:_:)``, and `unknown`. Then nothing has changed.
    package mutating func setFormat(output id: UInt32, _ format: MixFormat) throws(AudioFault) {
        guard let index = outputIndex(id) else { throw .unknown }
        guard format.common != outputs[index].format.common else {
            outputs[index].format = format
            return
        }
        let place = try enterClass(of: format)
        leaveClass(index)
        outputs[index].format = format
        outputs[index].mixClass = place
        outputs[index].isNew = true
        packets.reserve(outputs.count + classes.count)
    }

    package mutating func removeOutput(_ id: UInt32) {
        guard let index = outputIndex(id) else { return }
        leaveClass(index)
        outputs.remove(at: index)
    }

    /// Makes everything that an output hears louder or softer: ducking. A ramp begins where the gain is, also in the middle of another, at the first sample of the next tick.
    ///
    /// - Parameters:
    ///   - gain: 0…1; what is beyond is brought within.
    ///   - rampMilliseconds: how long it takes to get there.
    package mutating func setGain(output id: UInt32, _ gain: Float, rampMilliseconds: Double = 0) {
        guard let index = outputIndex(id) else { return }
        outputs[index].ramp = MixRamp(
            from: outputs[index].ramp.gain(at: clock), to: gain, milliseconds: rampMilliseconds, sampleRate: configuration.sampleRate, clock: clock)
        prepareOwn(of: outputs[index].mixClass)
    }

    /// Makes one input louder or softer for one output, or puts it aside. Unknown numbers are ignored.
    package mutating func setGain(output id: UInt32, input: UInt32, _ parameters: ParameterGain) {
        guard let index = outputIndex(id), inputPlaces[input] != nil else { return }
        let before = outputs[index].gain(of: input)?.ramp.gain(at: clock) ?? 1
        let ramp = MixRamp(
            from: before, to: parameters.volume, milliseconds: parameters.rampMilliseconds, sampleRate: configuration.sampleRate, clock: clock)
        let pan = parameters.pan.isNaN ? 0 : parameters.pan.clamped(to: -1...1)
        outputs[index].set(MixOutput.InputGain(input: input, ramp: ramp, pan: pan), at: clock)
        prepareOwn(of: outputs[index].mixClass)
    }

    // MARK: Places

    func outputIndex(_ id: UInt32) -> Int? {
        let index = insertionIndex(of: id)
        return index < outputs.count && outputs[index].id == id ? index : nil
    }

    private func insertionIndex(of id: UInt32) -> Int {
        var range = 0..<outputs.count
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            if outputs[middle].id < id { range = middle + 1..<range.upperBound } else { range = range.lowerBound..<middle }
        }
        return range.lowerBound
    }

    // MARK: Formats

    /// Finds or makes what outputs of a format share, and counts one more.
    private mutating func enterClass(of format: MixFormat) throws(AudioFault) -> Int {
        guard (1...2).contains(format.channels) else { throw .channels }
        guard OpusSettings.bitsPerSecondBounds.contains(format.bitsPerSecond) else { throw .settings }
        var place: Int?
        for index in 0..<classes.endIndex where classes.isLive(index) && classes[index].format == format.common { place = index }
        if place == nil {
            guard let handle = classes.insert(try MixClass(format.common, configuration)) else { throw .limit }
            place = Int(handle.index)
        }
        guard let place else { throw .limit }
        classes[place].outputCount += 1
        prepareOwn(of: place)
        return place
    }

    private mutating func leaveClass(_ index: Int) {
        let place = outputs[index].mixClass
        if let own = outputs[index].own.take() { classes[place].giveBack(own) }
        classes[place].outputCount -= 1
        if classes[place].outputCount == 0 { classes.remove(classes.handle(at: place)) }
    }

    /// As many encoders as there may be listeners with a mix of their own: those who speak, one who just did, and those who have gains.
    private mutating func prepareOwn(of place: Int) {
        let outputCount = classes[place].outputCount
        var wanted = min(outputCount, 2 * configuration.speakersMax)
        if wanted < outputCount {
            for output in outputs where output.mixClass == place && (!output.gains.isEmpty || !output.ramp.isUnity(at: clock)) { wanted += 1 }
        }
        while classes[place].ownCount < min(wanted, outputCount) {
            // Without it, one is made when it is needed.
            guard (try? classes[place].addOwn(configuration)) != nil else { return }
        }
    }
}

// Runs in the AudioWorklet: takes the microphone's samples and hands them to the page in frames of 20 ms, with the time of the first sample on the
// context's clock.

const frameSamples = 960;

class CaptureProcessor extends AudioWorkletProcessor {
  #frame = new Float32Array(frameSamples);
  #filled = 0;
  #startedAt = 0;
  #isClosed = false;

  constructor() {
    super();
    this.port.onmessage = ({ data }) => {
      if (data.type === "close") this.#isClosed = true;
    };
  }

  process(inputs) {
    const channel = inputs[0]?.[0];
    if (channel) this.#take(channel);
    else this.#filled = 0;
    return !this.#isClosed;
  }

  #take(channel) {
    let taken = 0;
    while (taken < channel.length) {
      if (this.#filled === 0) this.#startedAt = currentFrame + taken;
      const count = Math.min(frameSamples - this.#filled, channel.length - taken);
      this.#frame.set(channel.subarray(taken, taken + count), this.#filled);
      this.#filled += count;
      taken += count;
      if (this.#filled < frameSamples) continue;
      const samples = this.#frame;
      this.port.postMessage({ samples, at: (this.#startedAt * 1000) / sampleRate, now: ((currentFrame + taken) * 1000) / sampleRate }, [samples.buffer]);
      this.#frame = new Float32Array(frameSamples);
      this.#filled = 0;
    }
  }
}

registerProcessor("segue-capture", CaptureProcessor);

// The level of a microphone before there is a call: the root mean square of what an AnalyserNode sees. In the call the media engine measures.

export class MicrophoneMeter {
  /** @param {(level: number) => void} onLevel dBov, 0 to −127, some thirty times a second while the page is visible */
  constructor(onLevel) {
    this.onLevel = onLevel;
    /** @type {AudioContext|null} */
    this.context = null;
    /** @type {MediaStreamAudioSourceNode|null} */
    this.source = null;
    /** @type {MediaStreamTrack|null} */
    this.track = null;
    this.frame = 0;
  }

  /** @param {MediaStreamTrack|null} track */
  watch(track) {
    if (track === this.track) return;
    this.stop();
    this.track = track;
    if (!track || typeof AudioContext === "undefined") return;
    this.context ??= new AudioContext();
    void this.context.resume().catch(() => {});
    this.source = this.context.createMediaStreamSource(new MediaStream([track]));
    const analyser = this.context.createAnalyser();
    analyser.fftSize = 1024;
    this.source.connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    let even = false;
    const look = () => {
      this.frame = requestAnimationFrame(look);
      even = !even;
      if (even) return;
      analyser.getFloatTimeDomainData(samples);
      this.onLevel(levelOf(samples));
    };
    look();
  }

  stop() {
    cancelAnimationFrame(this.frame);
    this.source?.disconnect();
    this.source = null;
    this.track = null;
  }

  close() {
    this.stop();
    void this.context?.close().catch(() => {});
    this.context = null;
  }
}

/** @param {Float32Array} samples @returns {number} dBov as in RFC 6464: 0 is the loudest, −127 silence */
export function levelOf(samples) {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const level = samples.length === 0 ? -127 : 10 * Math.log10(sum / samples.length);
  return Math.min(0, Math.max(-127, Math.round(level)));
}

/** Two soft notes by the chosen output, so that one hears where sound will come from. @param {string|null} output */
export async function playTestSound(output) {
  const context = new AudioContext();
  try {
    const select = /** @type {any} */ (context).setSinkId;
    if (output && select) await select.call(context, output);
    for (const [at, hertz] of [[0, 523.25], [0.28, 783.99]]) {
      const oscillator = new OscillatorNode(context, { frequency: hertz });
      const gain = new GainNode(context, { gain: 0 });
      oscillator.connect(gain).connect(context.destination);
      const begin = context.currentTime + 0.05 + at;
      gain.gain.linearRampToValueAtTime(0, begin);
      gain.gain.linearRampToValueAtTime(0.2, begin + 0.02);
      gain.gain.exponentialRampToValueAtTime(0.0001, begin + 0.5);
      oscillator.start(begin);
      oscillator.stop(begin + 0.55);
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  } finally {
    await context.close();
  }
}

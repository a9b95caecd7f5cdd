// How loud sound is (RFC 6464), and whether somebody speaks. Pure.

export const silence = -127;

/** The level of samples in dBov: 0 (loudest, a square wave at full scale) … −127 (silence), a whole number as RFC 6464 §3 has it. */
export function levelOf(samples) {
  let sum = 0;
  for (let index = 0; index < samples.length; index++) sum += samples[index] * samples[index];
  return levelOfPower(samples.length > 0 ? sum / samples.length : 0);
}

/** The level of a mean square. */
export function levelOfPower(power) {
  if (!(power > 0)) return silence;
  return Math.max(silence, Math.min(0, Math.round(10 * Math.log10(power))));
}

/**
 * Voice by energy: what stands out from the noise of the last seconds, and a little longer, since the ends of words are soft.
 *
 * The noise is followed down at once, and up slowly: 6 dB a second, less than any word rises.
 */
export class VoiceDetector {
  #floor = null;
  #held = 0;

  static marginDecibels = 9;
  static thresholdDecibels = -55;
  static floorAtFirst = -45;
  static hangoverMilliseconds = 200;
  static riseDecibelsPerSecond = 6;

  /** @returns whether the frame of that level (dBov) and duration has voice */
  observe(level, milliseconds) {
    // Who begins with a word is heard to pause soon.
    this.#floor ??= Math.min(level, VoiceDetector.floorAtFirst);
    const rise = (VoiceDetector.riseDecibelsPerSecond * milliseconds) / 1000;
    const isLoud = level >= Math.max(this.#floor + VoiceDetector.marginDecibels, VoiceDetector.thresholdDecibels);
    // While somebody speaks the noise is not heard: it is taken to rise a tenth as fast.
    this.#floor = Math.max(-100, Math.min(level, this.#floor + (isLoud ? rise / 10 : rise)));
    this.#held = isLoud ? VoiceDetector.hangoverMilliseconds : Math.max(0, this.#held - milliseconds);
    return isLoud || this.#held > 0;
  }
}

/**
 * Which frames of silence are sent: the first few, so that the other end hears the end of what was, then one now and then, so that it sees a stream that lives.
 */
export class SilencePacer {
  #quiet = 0;
  #since = 0;

  static openingMilliseconds = 100;
  static intervalMilliseconds = 400;
  /** A microphone that gives nothing for so long is silent. */
  static hangoverMilliseconds = 1_000;
  static thresholdDecibels = -80;

  /** @returns {{silence: boolean, isSent: boolean}} for a frame of that level and duration */
  observe(level, isMuted, milliseconds) {
    if (!isMuted && level > SilencePacer.thresholdDecibels) {
      this.#quiet = 0;
      return { silence: false, isSent: true };
    }
    if (isMuted) this.#quiet = Math.max(this.#quiet, SilencePacer.hangoverMilliseconds);
    const silence = this.#quiet >= SilencePacer.hangoverMilliseconds;
    this.#quiet += milliseconds;
    if (!silence) return { silence: false, isSent: true };
    if (this.#quiet - SilencePacer.hangoverMilliseconds <= SilencePacer.openingMilliseconds) {
      this.#since = 0;
      return { silence: true, isSent: true };
    }
    this.#since += milliseconds;
    if (this.#since < SilencePacer.intervalMilliseconds) return { silence: true, isSent: false };
    this.#since = 0;
    return { silence: true, isSent: true };
  }
}

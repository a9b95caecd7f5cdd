// Which frequency sound has. Pure; for tests and meters, not for every frame.

/** An FFT in place (Cooley and Tukey, radix 2) of 2ⁿ complex numbers in two arrays. */
export function transform(real, imaginary) {
  const count = real.length;
  for (let index = 1, mirror = 0; index < count; index++) {
    let bit = count >> 1;
    for (; mirror & bit; bit >>= 1) mirror ^= bit;
    mirror ^= bit;
    if (index < mirror) {
      [real[index], real[mirror]] = [real[mirror], real[index]];
      [imaginary[index], imaginary[mirror]] = [imaginary[mirror], imaginary[index]];
    }
  }
  for (let length = 2; length <= count; length <<= 1) {
    const half = length >> 1;
    for (let place = 0; place < half; place++) {
      const angle = (-2 * Math.PI * place) / length;
      const cosine = Math.cos(angle);
      const sine = Math.sin(angle);
      for (let start = place; start < count; start += length) {
        const other = start + half;
        const re = real[other] * cosine - imaginary[other] * sine;
        const im = real[other] * sine + imaginary[other] * cosine;
        real[other] = real[start] - re;
        imaginary[other] = imaginary[start] - im;
        real[start] += re;
        imaginary[start] += im;
      }
    }
  }
}

/**
 * The strongest frequency of the loudest part of some sound.
 *
 * @param {Float32Array} samples
 * @param {{windowSize?: number, hertzMin?: number}} options windowSize: a power of two; how much is looked at
 * @returns {{hertz: number, level: number, share: number}} level: dBFS of that part; share: of its energy that lies within three bins of the frequency,
 *   0 … 1. Without sound all is 0, and the level −127 dB.
 */
export function strongestTone(samples, sampleRate, { windowSize = 4096, hertzMin = 50 } = {}) {
  const start = loudestWindow(samples, windowSize);
  const real = new Float64Array(windowSize);
  const imaginary = new Float64Array(windowSize);
  let power = 0;
  const count = Math.min(windowSize, samples.length - start);
  for (let index = 0; index < count; index++) {
    const sample = samples[start + index];
    power += sample * sample;
    real[index] = sample * (0.5 - 0.5 * Math.cos((2 * Math.PI * index) / windowSize));
  }
  if (!(power > 0)) return { hertz: 0, level: -127, share: 0 };
  transform(real, imaginary);
  const half = windowSize >> 1;
  const magnitudes = new Float64Array(half);
  let total = 0;
  let best = Math.max(1, Math.ceil((hertzMin * windowSize) / sampleRate));
  for (let bin = 1; bin < half; bin++) {
    magnitudes[bin] = real[bin] * real[bin] + imaginary[bin] * imaginary[bin];
    total += magnitudes[bin];
    if (bin > best && magnitudes[bin] > magnitudes[best]) best = bin;
  }
  let near = 0;
  for (let bin = Math.max(1, best - 3); bin <= Math.min(half - 1, best + 3); bin++) near += magnitudes[bin];
  const hertz = ((best + vertex(magnitudes, best)) * sampleRate) / windowSize;
  return { hertz, level: Math.max(-127, 10 * Math.log10(power / count)), share: total > 0 ? near / total : 0 };
}

/** Where the parabola through the logarithms of a peak and its neighbours has its top: −0.5 … 0.5 bins beside the peak. */
function vertex(magnitudes, peak) {
  if (peak < 2 || peak + 1 >= magnitudes.length) return 0;
  const [left, middle, right] = [magnitudes[peak - 1], magnitudes[peak], magnitudes[peak + 1]].map((value) => Math.log(value + 1e-30));
  const curvature = left - 2 * middle + right;
  return curvature < 0 ? Math.max(-0.5, Math.min(0.5, (0.5 * (left - right)) / curvature)) : 0;
}

/** Where the `size` samples with the most energy begin, in steps of an eighth of them. */
function loudestWindow(samples, size) {
  const step = Math.max(1, size >> 3);
  let best = 0;
  let bestPower = -1;
  for (let start = 0; start + size <= samples.length; start += step) {
    let power = 0;
    for (let index = start; index < start + size; index++) power += samples[index] * samples[index];
    if (power > bestPower) [best, bestPower] = [start, power];
  }
  return best;
}

// Other sample rates to 48 kHz: telephone codecs come at 8 or 16 kHz, AAC often at 44.1. Pure.

/**
 * A resampler that goes on from block to block: a windowed sinc of 16 taps, cut off at the lower of the two rates' halves.
 *
 * @returns {(samples: Float32Array) => Float32Array} each block gives about its length times to/from samples; all blocks together give it exactly
 */
export function resampler(from, to) {
  const half = 8;
  const cutoff = Math.min(1, to / from);
  const step = from / to;
  let history = new Float32Array(2 * half);
  let position = half; // of the next output sample, in input samples from the history's beginning
  return (samples) => {
    const input = new Float32Array(history.length + samples.length);
    input.set(history);
    input.set(samples, history.length);
    const count = Math.max(0, Math.ceil((input.length - half - position) / step));
    const output = new Float32Array(count);
    for (let index = 0; index < count; index++, position += step) {
      const whole = Math.floor(position);
      let sum = 0;
      for (let tap = whole - half + 1; tap <= whole + half; tap++) sum += (input[tap] ?? 0) * kernel(position - tap, cutoff, half);
      output[index] = sum;
    }
    const kept = Math.max(0, Math.min(input.length - 2 * half, Math.floor(position) - half));
    history = input.slice(kept);
    position -= kept;
    return output;
  };
}

function kernel(distance, cutoff, half) {
  if (Math.abs(distance) >= half) return 0;
  const angle = Math.PI * distance * cutoff;
  const sinc = angle === 0 ? 1 : Math.sin(angle) / angle;
  return cutoff * sinc * (0.5 + 0.5 * Math.cos((Math.PI * distance) / half));
}

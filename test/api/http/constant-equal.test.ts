import { describe, expect, it } from '@jest/globals';
import { createSecretCheck } from '../../../api/http/constant-equal.js';

const SECRET = 'kS3cret-0123456789-0123456789-end';
const SAMPLES = 20_000;

/** Welch's t of two series of times, the slowest tenth (garbage collection, other processes) left out. */
const welch = (a: number[], b: number[]): number => {
  const moments = (series: number[]) => {
    const kept = series.sort((x, y) => x - y).slice(0, Math.floor(series.length * 0.9));
    const mean = kept.reduce((sum, x) => sum + x, 0) / kept.length;
    const variance = kept.reduce((sum, x) => sum + (x - mean) ** 2, 0) / (kept.length - 1);
    return { mean, share: variance / kept.length };
  };
  const [x, y] = [moments(a), moments(b)];
  return Math.abs(x.mean - y.mean) / Math.sqrt(x.share + y.share);
};

const nanoseconds = (work: () => void): number => {
  const start = process.hrtime.bigint();
  work();
  return Number(process.hrtime.bigint() - start);
};

describe('the comparison with a secret', () => {
  it('is true for the secret only', () => {
    const check = createSecretCheck(SECRET);
    expect(check(SECRET)).toBe(true);
    for (const given of [
      '',
      SECRET.slice(0, -1),
      `${SECRET}x`,
      SECRET.toUpperCase(),
      ` ${SECRET}`,
      `${SECRET}\u0000`,
    ])
      expect(check(given)).toBe(false);
    expect(createSecretCheck('e\u0301')('\u00e9')).toBe(false);
  });

  it('takes as long for a right beginning as for a wrong one', () => {
    const check = createSecretCheck(SECRET);
    const wrong = 'x'.repeat(SECRET.length);
    const almost = `${SECRET.slice(0, -1)}x`;
    const leaks = Array.from({ length: 5 }, () => {
      const times: [number[], number[]] = [[], []];
      for (let n = 0; n < SAMPLES; n++) {
        const order = n % 2 === 0 ? [0, 1] : [1, 0];
        for (const which of order)
          times[which as 0 | 1].push(nanoseconds(() => check(which === 0 ? wrong : almost)));
      }
      return welch(...times);
    });
    // dudect's bound; the least of five runs, since only a leak is there every time
    expect(Math.min(...leaks)).toBeLessThan(4.5);
  });
});

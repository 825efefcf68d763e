/** Hand-made DER for signatures, so that tests can also make what DER forbids. */
export const integer = (value: Buffer): Buffer => {
  let start = 0;
  while (start < value.length - 1 && value[start] === 0) start += 1;
  const significant = value.subarray(start);
  const body = (significant[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), significant]) : significant;
  return Buffer.concat([header(2, body.length), body]);
};

const header = (tag: number, length: number): Buffer => {
  if (length < 0x80) return Buffer.from([tag, length]);
  return length < 0x100
    ? Buffer.from([tag, 0x81, length])
    : Buffer.from([tag, 0x82, length >> 8, length & 0xff]);
};

export const rawSequence = (...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([header(0x30, body.length), body]);
};

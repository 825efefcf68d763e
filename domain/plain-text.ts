import { z } from 'zod';

/** Text that PostgreSQL and JSON keep byte for byte: no NUL, no lone surrogate. */
export const plainText = (max: number, min = 0) =>
  z
    .string()
    .min(min)
    .max(max)
    .refine(
      (value) => value.isWellFormed() && !value.includes('\u0000'),
      'must not contain NUL or lone surrogates',
    );

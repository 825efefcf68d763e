/** Shorter values would blacken words of every log. */
const SHORTEST_MARKED = 3;
const SHORTEST = 6;
const SHOWN = '[secret]';

/** Values to keep out of a log: the longest first, so that no part of one is left beside another. */
export const maskedValues = (
  values: Readonly<Record<string, string>>,
  marked: readonly string[],
): readonly string[] => {
  const found = Object.entries(values).flatMap(([name, value]) => {
    const shortest = marked.includes(name) ? SHORTEST_MARKED : SHORTEST;
    return [value, ...value.split(/\r?\n/)]
      .map((text) => text.trim())
      .filter((text) => text.length >= shortest);
  });
  return [...new Set(found.flatMap((text) => [text, encodeURIComponent(text)]))].sort(
    (a, b) => b.length - a.length,
  );
};

export const maskText = (text: string, values: readonly string[]): string =>
  values.reduce((masked, value) => masked.replaceAll(value, SHOWN), text);

import stringWidth from "string-width";

/** A text as it is where it fits, else its beginning. */
export function cut(text: string, room: number): string {
  if (textWidth(text) <= room) return text;
  const letters = lettersOf(text);
  return letters.slice(0, lettersThatFit(letters, room - 1)).join("") + "…";
}

/** How many columns of a terminal a text takes: two of an East Asian letter in its full width and of an emoji (UAX #11). */
export function textWidth(text: string): number {
  return stringWidth(text);
}

const segmenter = new Intl.Segmenter();

/** The letters of a text, as people see them: with their marks, and an emoji of several as one. */
export function lettersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** How many of these letters, from the first on, fit into so many columns. */
export function lettersThatFit(letters: string[], columns: number): number {
  let left = columns;
  const end = letters.findIndex((letter) => (left -= textWidth(letter)) < 0);
  return end === -1 ? letters.length : end;
}

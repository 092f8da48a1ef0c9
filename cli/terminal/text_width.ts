import stringWidth from "string-width";

/** The text where it fits, else its beginning and an ellipsis. */
export function cut(text: string, room: number): string {
  if (textWidth(text) <= room) return text;
  const letters = lettersOf(text);
  return letters.slice(0, lettersThatFit(letters, room - 1)).join("") + "…";
}

/** Columns of a text on a terminal. A full-width East Asian letter and an emoji take two (UAX #11). */
export function textWidth(text: string): number {
  return stringWidth(text);
}

const segmenter = new Intl.Segmenter();

/** The grapheme clusters of a text: a letter with its marks is one, and so is an emoji of several code points. */
export function lettersOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** How many of the first letters fit into `columns`. */
export function lettersThatFit(letters: string[], columns: number): number {
  let left = columns;
  const end = letters.findIndex((letter) => (left -= textWidth(letter)) < 0);
  return end === -1 ? letters.length : end;
}

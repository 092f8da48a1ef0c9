import { eastAsianWidth } from "get-east-asian-width";

/** A text as it is where it fits, else its beginning. */
export function cut(text: string, room: number): string {
  if (textWidth(text) <= room) return text;
  const letters = [...text];
  return letters.slice(0, lettersThatFit(letters, room - 1)).join("") + "…";
}

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  return [...text].reduce((sum, letter) => sum + letterWidth(letter), 0);
}

/** How many of these letters, from the first on, fit into so many columns. */
export function lettersThatFit(letters: string[], columns: number): number {
  let left = columns;
  const end = letters.findIndex((letter) => (left -= letterWidth(letter)) < 0);
  return end === -1 ? letters.length : end;
}

/** Stands on the letter before it. */
const MARK = /[\p{Mn}\p{Me}]/u;

/** Of East Asian letters in their full width, and of emoji, two (UAX #11). */
function letterWidth(letter: string): number {
  return MARK.test(letter) ? 0 : eastAsianWidth(letter.codePointAt(0)!);
}

/** What takes two columns of a terminal: East Asian letters in their full width, and emoji but for the halves of a flag. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{17000}-\u{18cff}\u{1aff0}-\u{1b2ff}\u{20000}-\u{3fffd}]|(?![\u{1f1e6}-\u{1f1ff}])\p{Emoji_Presentation}/u;
/** Stands on the letter before it. */
const NONE = /[\p{Mn}\p{Me}]/u;

/** How many columns of a terminal a text takes. */
export function textWidth(text: string): number {
  return [...text].reduce((sum, letter) => sum + letterWidth(letter), 0);
}

function letterWidth(letter: string): number {
  if (letter <= "~") return 1;
  return WIDE.test(letter) ? 2 : NONE.test(letter) ? 0 : 1;
}

/** How many of these letters, from the first on, fit into so many columns. */
export function lettersThatFit(letters: string[], columns: number): number {
  let left = columns;
  const end = letters.findIndex((letter) => (left -= letterWidth(letter)) < 0);
  return end === -1 ? letters.length : end;
}

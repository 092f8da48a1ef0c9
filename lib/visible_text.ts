/**
 * Characters that end a line, move a terminal's cursor, or hide or reverse text: controls, format characters, and the line and
 * paragraph separators of Unicode.
 */
export const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/**
 * Writes the controls of a text as JSON writes them (`\u001b`). So a stranger's text stays on its line of a log or a terminal.
 * A JSON text keeps its meaning.
 *
 * @param except controls that stay as they are
 */
export function visible(text: string, except = ""): string {
  return text.replace(CONTROLS, (character) => except.includes(character) ? character : escapeOf(character));
}

function escapeOf(character: string): string {
  if (character === "\n") return "\\n";
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

import type { CommandIo } from "../command.ts";

/** Lines of at most so many characters, broken between words; a word that is longer has a line of its own. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** What a line that is read by eyes may hold; scripts get it whole. */
export function roomOf({ isTerminal, columns }: Pick<CommandIo, "isTerminal" | "columns">): number {
  return isTerminal ? columns ?? Infinity : Infinity;
}

/**
 * Text behind a head, as lines of at most `room` characters: the first behind the head itself, the others as far in, so
 * that the text stands in a column. A word that the column is too narrow for, such as a contract's id, stands as far in as
 * it can, so that it can be copied.
 */
export function hanging(head: string, text: string, room: number): string {
  if (head.length + text.length <= room) return head + text;
  const [first = "", ...others] = wrapped(text, room - head.length);
  const below = (line: string) => " ".repeat(Math.max(0, Math.min(head.length, room - line.length))) + line;
  const isTooLong = head.length + first.length > room;
  return [isTooLong ? `${head.trimEnd()}\n${below(first)}` : head + first, ...others.map(below)].join("\n");
}

/** The same for a line on standard error. */
export function errorRoomOf({ isErrorTerminal, columns }: Pick<CommandIo, "isErrorTerminal" | "columns">): number {
  return isErrorTerminal ? columns ?? Infinity : Infinity;
}

/** A sentence on its own, in lines of at most `room` characters. */
export function sentence(text: string, room: number): string {
  return hanging("", text, room) + "\n";
}

/** A command line, which is never broken, behind what is to be done with it or under it. */
export function commandToCopy(what: string, command: string, room: number): string {
  const fits = what.length + 1 + command.length <= room;
  return `${what}${fits ? " " : "\n  "}${command}\n`;
}

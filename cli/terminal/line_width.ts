import type { CommandIo } from "../command.ts";

/** Breaks a text between words into lines of at most `width` characters. A longer word gets its own line. */
export function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Characters in a line of a terminal. Scripts get whole lines. */
export function roomOf({ isTerminal, columns }: Pick<CommandIo, "isTerminal" | "columns">): number {
  return isTerminal ? columns ?? Infinity : Infinity;
}

/**
 * A text behind a head, as a column of lines of at most `room` characters. A word that is too long for the column, such as a
 * contract's id, begins further left, so that it can be copied.
 */
export function hanging(head: string, text: string, room: number): string {
  if (head.length + text.length <= room) return head + text;
  const [first = "", ...others] = wrapped(text, room - head.length);
  const below = (line: string) => " ".repeat(Math.max(0, Math.min(head.length, room - line.length))) + line;
  const isTooLong = head.length + first.length > room;
  return [isTooLong ? `${head.trimEnd()}\n${below(first)}` : head + first, ...others.map(below)].join("\n");
}

/** The same for standard error. */
export function errorRoomOf({ isErrorTerminal, columns }: Pick<CommandIo, "isErrorTerminal" | "columns">): number {
  return isErrorTerminal ? columns ?? Infinity : Infinity;
}

/** A sentence in lines of at most `room` characters. */
export function sentence(text: string, room: number): string {
  return hanging("", text, room) + "\n";
}

/** A text and a command line, which never breaks, behind it or under it. */
export function commandToCopy(what: string, command: string, room: number): string {
  const fits = what.length + 1 + command.length <= room;
  return `${what}${fits ? " " : "\n  "}${command}\n`;
}

import { defaultStoreSetting } from "../lib/runtime/default_store.ts";
import type { Row } from "./command.ts";
import { hanging, wrapped } from "./terminal/line_width.ts";

export interface HelpPage {
  /** Each form of the command line, after `gateway`. A line that begins with a space continues the one before. */
  usage: string[];
  /** The task of the command, in paragraphs with an empty line between them. */
  about: string;
  /** More sections, in this order. */
  lists?: Record<string, Row[]>;
  flags?: readonly Row[];
  /** Variables without a flag. */
  environment?: Row[];
  /** Paragraphs after the lists. */
  notes?: string;
  /** Only for codes that mean more than 0 done, 1 failed, 2 wrong command line. */
  exitCodes?: Row[];
  /** Command lines to copy. */
  examples: string[];
}

/** Characters in a line of the documentation pages. */
export const MAX_WIDTH = 96;
const INDENT = "  ";
/** A space at which no line breaks. */
const TIED = "\0";

/** The help of a command, in the same shape for all, for lines of at most `room` characters. */
export function helpText(page: HelpPage): (room: number) => string {
  return (room) => layOut(page, Math.min(room, MAX_WIDTH));
}

function layOut(
  { usage, about, lists = {}, flags, environment, notes, exitCodes, examples }: HelpPage,
  width: number,
): string {
  const section = (title: string, rows: readonly Row[]) => `${title}:\n${rowsText(rows, width)}`;
  const sections = [
    `Usage: ${usage.map((line) => usageLine(line, width)).join("\n").trimStart()}`,
    paragraphs(about, width),
    ...Object.entries(lists).map(([title, rows]) => section(title, rows)),
    ...(flags === undefined ? [] : [section("Flags", flags)]),
    ...(environment === undefined ? [] : [section("Environment", environment)]),
    ...(notes === undefined ? [] : [paragraphs(notes, width)]),
    ...(exitCodes === undefined ? [] : [section("Exit codes", exitCodes)]),
    ["Examples:", ...examples.map((line) => INDENT + line)].join("\n"),
  ];
  return sections.join("\n\n") + "\n";
}

/** A line under `Usage: `. A line never breaks within brackets. */
function usageLine(line: string, width: number): string {
  if (line.startsWith(" ")) return `       ${line}`;
  const whole = line.replace(/\[[^\]]*\]/g, (option) => option.replaceAll(" ", TIED));
  return hanging("       gateway ", whole, width).replaceAll(TIED, " ");
}

function rowsText(rows: readonly Row[], width: number): string {
  const leftWidth = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, meaning]) => hanging(`${INDENT}${left.padEnd(leftWidth)}  `, meaning, width).trimEnd())
    .join("\n");
}

function paragraphs(text: string, width: number): string {
  return text.split("\n\n").map((paragraph) => wrapped(paragraph, width).join("\n")).join("\n\n");
}

/** The store, for commands that run beside a gateway. */
export const STORE_ROW = [
  "--store SETTING",
  "The store: sqlite:PATH, postgres://USER@HOST/DATABASE, or deno-kv:PATH on Deno " +
  `(default SERVICE_API_STORE, else ${defaultStoreSetting()})`,
] as const;

/** The place of the API keys, for commands that change them. */
export const KEY_PLACE_ROWS = [
  STORE_ROW,
  ["--keys-file PATH", "A JSON file with the API keys, instead of the store (default SERVICE_API_KEYS_FILE)"],
] as const;

export const YES_ROW = ["--yes", "Delete without asking", ["delete"]] as const;

/**
 * The row of `--json`.
 * @param fields of a line
 * @param what one line holds, for a command that prints several
 */
export function jsonRow(fields: string, what = ""): readonly ["--json", string] {
  return ["--json", `Print one line of JSON${what && ` per ${what}`}: ${fields}`];
}

import { defaultStoreSetting } from "../lib/runtime/default_store.ts";
import type { Row } from "./command.ts";
import { hanging, wrapped } from "./terminal/line_width.ts";

export interface HelpPage {
  /** Each way to call it, after `gateway`; a line that begins with a space goes on from the one before. */
  usage: string[];
  /** What it does, paragraphs with an empty line between them. */
  about: string;
  /** Sections of their own, in their order. */
  lists?: Record<string, Row[]>;
  flags?: readonly Row[];
  /** Variables that are read and have no flag. */
  environment?: Row[];
  /** Whatever else there is to say. */
  notes?: string;
  /** Only where they say more than 0 done, 1 failed, 2 called wrongly. */
  exitCodes?: Row[];
  /** Command lines, as they would be typed. */
  examples: string[];
}

/** Pages of documentation hold so much, and a longer line is hard to read. */
export const MAX_WIDTH = 96;
const INDENT = "  ";
/** Stands for a space at which no line is broken. */
const TIED = "\0";

/** The help of a command, the same shape for all of them, for a terminal that holds so much in a line. */
export function helpText(page: HelpPage): (room: number) => string {
  return (room) => laidOut(page, Math.min(room, MAX_WIDTH));
}

function laidOut(
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

/** As it stands under `Usage: `. What is in brackets stays together. */
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

/** Where a command that works on a store beside a gateway finds it. */
export const STORE_ROW = [
  "--store SETTING",
  "Where keys, limits and history are kept: sqlite:PATH, postgres://USER@HOST/DATABASE or, on Deno, deno-kv:PATH " +
  `(what SERVICE_API_STORE says, else ${defaultStoreSetting()})`,
] as const;

/** Where a command that works on API keys finds them. */
export const KEY_PLACE_ROWS = [
  STORE_ROW,
  [
    "--keys-file PATH",
    "JSON file with the API keys, instead of the keys in the store (what SERVICE_API_KEYS_FILE says)",
  ],
] as const;

export const YES_ROW = ["--yes", "Delete without asking", ["delete"]] as const;

/**
 * @param what the line stands for, where there is more than one
 * @param fields of the line
 */
export function jsonRow(fields: string, what = ""): readonly ["--json", string] {
  return ["--json", `Print one line of JSON${what && ` for each ${what}`}: ${fields}`];
}

import { defaultStoreSetting } from "../lib/store/default_store.ts";

/** A line of a list: what stands on the left, as `--port N`, and what it means, its standard value in brackets. */
export type Row = readonly [left: string, meaning: string];

export interface HelpPage {
  /** Each way to call it, after `gateway`; a line that begins with a space goes on from the one before. */
  usage: string[];
  /** What it does, paragraphs with an empty line between them. */
  about: string;
  /** Sections of their own, in their order. */
  lists?: Record<string, Row[]>;
  flags?: Row[];
  /** Variables that are read and have no flag. */
  environment?: Row[];
  /** Whatever else there is to say. */
  notes?: string;
  /** Only where they say more than 0 done, 1 failed, 2 called wrongly. */
  exitCodes?: Row[];
  /** Command lines, as they would be typed. */
  examples: string[];
}

/** Terminals and pages of documentation hold so much. */
export const MAX_WIDTH = 96;
const INDENT = "  ";

/** The help of a command: the same shape for all of them. */
export function helpText(
  { usage, about, lists = {}, flags, environment, notes, exitCodes, examples }: HelpPage,
): string {
  const [first, ...others] = usage.map((line) => line.startsWith(" ") ? `       ${line}` : `gateway ${line}`);
  const sections = [
    [`Usage: ${first}`, ...others.map((line) => line.startsWith(" ") ? line : `       ${line}`)].join("\n"),
    paragraphs(about),
    ...Object.entries(lists).map(([title, rows]) => section(title, rows)),
    ...(flags === undefined ? [] : [section("Flags", flags)]),
    ...(environment === undefined ? [] : [section("Environment", environment)]),
    ...(notes === undefined ? [] : [paragraphs(notes)]),
    ...(exitCodes === undefined ? [] : [section("Exit codes", exitCodes)]),
    ["Examples:", ...examples.map((line) => INDENT + line)].join("\n"),
  ];
  return sections.join("\n\n") + "\n";
}

function section(title: string, rows: Row[]): string {
  const leftWidth = Math.max(...rows.map(([left]) => left.length));
  const hanging = " ".repeat(INDENT.length + leftWidth + 2);
  const lines = rows.map(([left, meaning]) =>
    `${INDENT}${left.padEnd(leftWidth)}  ${wrapped(meaning, MAX_WIDTH - hanging.length).join(`\n${hanging}`)}`.trimEnd()
  );
  return [`${title}:`, ...lines].join("\n");
}

function paragraphs(text: string): string {
  return text.split("\n\n").map((paragraph) => wrapped(paragraph, MAX_WIDTH).join("\n")).join("\n\n");
}

/** Lines of at most so many characters, broken between words. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/** Where a command that works on a store beside a gateway finds it. */
export const STORE_ROW: Row = [
  "--store SETTING",
  "Where keys, limits and history are kept: sqlite:PATH or, on Deno, deno-kv:PATH " +
  `(what SERVICE_API_STORE says, else ${defaultStoreSetting()})`,
];

/** Where a command that works on API keys finds them. */
export const KEY_PLACE_ROWS: Row[] = [
  STORE_ROW,
  ["--keys-file PATH", "A JSON file of API keys instead of those in the store (what SERVICE_API_KEYS_FILE says)"],
];

export const YES_ROW: Row = ["--yes", "Delete without asking"];

/**
 * @param what the line stands for, where there is more than one
 * @param fields of the line
 */
export function jsonRow(fields: string, what = ""): Row {
  return ["--json", `Print one line of JSON${what && ` for each ${what}`}: ${fields}`];
}

import type { CommandIo } from "../command.ts";
import { visible } from "../../lib/visible_text.ts";
import { lettersOf, lettersThatFit, textWidth } from "./text_width.ts";

/** A column of a table. Widths are fixed, because the whole list is never in memory. */
export interface Column<T> {
  heading: string;
  /** The text of a row in this column. */
  text(row: T): string;
  /** Width of the longest usual text. */
  width: number;
  /** Smallest width on a narrow terminal. Absent: `width`. */
  least?: number;
  /** A terminal too narrow for all columns loses the columns with this number, the lowest first. Absent: never. */
  goes?: number;
}

/** A column with its width on this terminal. */
type LaidOut<T> = Pick<Column<T>, "heading" | "text" | "width">;

const GAP = 2;
const TIME = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(:\d\d)(?:\.\d+)?Z$/;

/**
 * Prints rows: on a terminal as a table that fits, with times in UTC. Elsewhere all columns in full, separated by tabs.
 */
export function tablePrinter<T>(io: CommandIo, columns: readonly Column<T>[]): (rows: readonly T[]) => void {
  if (!io.isTerminal) return (rows) => io.stdout(rows.map((row) => plainLine(columns, row)).join(""));
  const laidOut = fitted(columns, io.columns ?? Infinity);
  let isFirst = true;
  return (rows) => {
    const lines = rows.map((row) => aligned(laidOut, ({ text, width }) => shortened(cellText(text(row)), width)));
    if (isFirst) lines.unshift(aligned(laidOut, ({ heading }) => heading));
    isFirst = false;
    io.stdout(lines.join(""));
  };
}

function plainLine<T>(columns: readonly Column<T>[], row: T): string {
  return columns.map(({ text }) => cellText(text(row))).join("\t") + "\n";
}

/** On one line, in one column. */
function cellText(text: string): string {
  return visible(text.replace(/[\t\r\n]+/g, " "));
}

/** The columns that fit into the terminal, with their widths. */
function fitted<T>(columns: readonly Column<T>[], room: number): LaidOut<T>[] {
  const leastOf = ({ width, least = width }: Column<T>) => least + GAP;
  const total = (some: readonly Column<T>[], widthOf: (column: Column<T>) => number) =>
    some.reduce((sum, column) => sum + widthOf(column), -GAP);
  let kept = columns;
  for (let next = 1; next <= columns.length && total(kept, leastOf) > room; next++) {
    kept = kept.filter(({ goes }) => goes !== next);
  }
  let free = Math.max(0, room - total(kept, leastOf));
  return kept.map(({ heading, text, width, least = width }) => {
    const more = Math.min(free, width - least);
    free -= more;
    return { heading, text, width: least + more };
  });
}

/** Shortens a text: a time to the minute or the day, a single word in its middle, other texts at the end. */
function shortened(text: string, room: number): string {
  const [, day, minute, second] = TIME.exec(text) ?? [];
  if (day !== undefined) {
    const forms = [`${day} ${minute}${second}`, `${day} ${minute}`, day];
    return forms.find((form) => form.length <= room) ?? day;
  }
  if (textWidth(text) <= room) return text;
  const letters = lettersOf(text);
  const tail = room < 12 || text.includes(" ") ? 0 : Math.floor(room / 4);
  const atEnd = lettersThatFit(letters.toReversed(), tail);
  return [
    ...letters.slice(0, lettersThatFit(letters, room - 1 - tail)),
    "…",
    ...letters.slice(letters.length - atEnd),
  ].join("");
}

function aligned<T>(columns: LaidOut<T>[], textOf: (column: LaidOut<T>) => string): string {
  return columns.map((column) => padded(textOf(column), column.width + GAP)).join("").trimEnd() + "\n";
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

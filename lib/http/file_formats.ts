/** The forms of a list: one page of JSON, or a file. */
export const FORMATS = ["json", "csv", "jsonl"] as const;
export type Format = (typeof FORMATS)[number];
export type FileFormat = Exclude<Format, "json">;

/** A row of a file: cells by the name of their column. An absent or null cell is empty in CSV. */
export type Row = Readonly<Record<string, string | number | null | undefined>>;

/** The media type of each file format. */
export const MEDIA_TYPES: Record<FileFormat, string> = { csv: "text/csv", jsonl: "application/jsonl" };

/** The file format that a request asks for: by `format`, else by its header Accept. Undefined: JSON. */
export function fileFormatOf(request: Request, format?: Format): FileFormat | undefined {
  if (format !== undefined) return format === "json" ? undefined : format;
  const accept = request.headers.get("accept");
  if (accept === null) return undefined;
  const ranges = accept.toLowerCase().split(",").map((range) => {
    const [type = "", ...parameters] = range.split(";").map((part) => part.trim());
    const quality = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2);
    return { type, quality: quality === undefined ? 1 : Number(quality) };
  });
  const isJson = ({ type }: { type: string }) => ["application/json", "application/*", "*/*"].includes(type);
  const formatOf = ({ type }: { type: string }) =>
    (Object.keys(MEDIA_TYPES) as FileFormat[]).find((format) => MEDIA_TYPES[format] === type);
  const [best] = ranges.filter((range) => range.quality > 0 && (isJson(range) || formatOf(range) !== undefined))
    .sort((one, other) => other.quality - one.quality);
  return best && formatOf(best);
}

/** The parts of a file: its head, then the text of each page of rows. */
export interface FileForm {
  head: string;
  textOf(rows: readonly Row[]): string;
}

/** CSV of RFC 4180 with a header, or JSON Lines. */
export function fileForm(format: FileFormat, columns: readonly string[]): FileForm {
  if (format === "jsonl") return { head: "", textOf: (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join("") };
  const lineOf = (row: Row) => `${columns.map((column) => csvCell(row[column])).join(",")}\r\n`;
  return { head: `${columns.map(csvCell).join(",")}\r\n`, textOf: (rows) => rows.map(lineOf).join("") };
}

const SPECIAL = /^[=+\-@\t\r]|[",\r\n]/;
const QUOTED = /[",\r\n]/;
const FORMULA = /^[=+\-@\t\r]/;
const NUMBER = /^[+-]?\d+(\.\d+)?$/;

/**
 * A spreadsheet takes a cell that begins with one of = + - @ for a formula, and so gets an apostrophe before it, except before
 * a number.
 */
function csvCell(cell: Row[string]): string {
  if (typeof cell !== "string") return cell == null ? "" : String(cell);
  if (!SPECIAL.test(cell)) return cell;
  const safe = FORMULA.test(cell) && !NUMBER.test(cell) ? `'${cell}` : cell;
  return QUOTED.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

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

/** CSV of RFC 4180, the header with the first page. */
export async function* csvOf(columns: readonly string[], pages: AsyncGenerator<Row[]>): AsyncGenerator<string> {
  let header = csvLine(columns);
  for await (const rows of pages) {
    const text = header + rows.map((row) => csvLine(columns.map((column) => row[column]))).join("");
    header = "";
    if (text !== "") yield text;
  }
}

export async function* jsonLinesOf(pages: AsyncGenerator<Row[]>): AsyncGenerator<string> {
  for await (const rows of pages) {
    if (rows.length > 0) yield rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  }
}

/**
 * One line of CSV. A spreadsheet takes a cell that begins with one of = + - @ for a formula, and so gets an apostrophe before it,
 * except before a number.
 */
function csvLine(cells: readonly Row[string][]): string {
  return cells.map((cell) => {
    const text = String(cell ?? "");
    const isFormula = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d+)?$/.test(text);
    const safe = isFormula ? `'${text}` : text;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }).join(",") + "\r\n";
}

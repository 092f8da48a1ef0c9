import type { KeyRecord } from "../lib/store/store.ts";

/** Widths are fixed: the whole list is never in memory, so they cannot be measured. */
const WIDTHS = [12, 26, 21, 9, 9, 17, 17, 17];
const HEADINGS = ["ID", "NAME", "SCOPES", "RATE", "STATE", "CREATED", "EXPIRES", "LAST USED"];

/** The head of the table that `tableRow` makes. */
export const TABLE_HEAD = aligned(HEADINGS);

/** A key as a line of a table for eyes: long names are cut, times are UTC to the minute. */
export function tableRow(record: KeyRecord, now: number): string {
  const name = record.name.length > 24 ? record.name.slice(0, 23) + "…" : record.name;
  const [id, , ...rest] = columns(record, now);
  return aligned([id!, name, ...rest.map((text) => text.replace(/^(\d{4}-\d\d-\d\d)T(\d\d:\d\d).*$/, "$1 $2"))]);
}

/** A key as a line of plain columns, with tabs between them. */
export function keyRow(record: KeyRecord, now: number): string {
  return columns(record, now).join("\t") + "\n";
}

/** A key as one line of JSON, without its hash. */
export function keyJson({ id, name, scopes, rate, disabled, createdAt, expiresAt, lastUsedAt }: KeyRecord): string {
  return JSON.stringify({
    id,
    name,
    scopes,
    rate: rate ?? null,
    disabled,
    createdAt,
    expiresAt: expiresAt ?? null,
    lastUsedAt: lastUsedAt ?? null,
  }) + "\n";
}

/** A key as lines of heading and value. */
export function keyDetails(record: KeyRecord, now: number): string {
  return columns(record, now).map((text, i) => `${HEADINGS[i]!.toLowerCase().padEnd(12)} ${text}\n`).join("");
}

function columns(record: KeyRecord, now: number): string[] {
  const { id, name, scopes, rate, createdAt, expiresAt, lastUsedAt } = record;
  return [
    id,
    name,
    scopes.join(","),
    rate === undefined ? "default" : String(rate),
    stateOf(record, now),
    createdAt,
    expiresAt ?? "never",
    lastUsedAt ?? "never",
  ];
}

function stateOf({ disabled, expiresAt }: KeyRecord, now: number): string {
  if (disabled) return "disabled";
  return expiresAt !== undefined && Date.parse(expiresAt) <= now ? "expired" : "enabled";
}

function aligned(texts: string[]): string {
  return texts.map((text, i) => text.padEnd(WIDTHS[i]!)).join("").trimEnd() + "\n";
}

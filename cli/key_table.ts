import { hasExpired } from "../lib/keys/api_key.ts";
import type { KeyRecord } from "../lib/store/store.ts";
import type { Column } from "./terminal/table.ts";

/** A key in a list: id, name, scopes, rate, state, created, expires, last used. */
export const KEY_COLUMNS: Column[] = [
  { heading: "ID", width: 10 },
  { heading: "NAME", width: 24, least: 12 },
  { heading: "SCOPES", width: 19 },
  { heading: "RATE", width: 7 },
  { heading: "STATE", width: 8 },
  { heading: "CREATED", width: 16, least: 10, goes: 1 },
  { heading: "EXPIRES", width: 16, least: 10, goes: 2 },
  { heading: "LAST USED", width: 16, least: 10 },
];

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
  return keyTexts(record, now).map((text, i) => `${KEY_COLUMNS[i]!.heading.toLowerCase().padEnd(12)} ${text}\n`).join(
    "",
  );
}

/** A text for each of `KEY_COLUMNS`. */
export function keyTexts(record: KeyRecord, now: number): string[] {
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

function stateOf(record: KeyRecord, now: number): string {
  if (record.disabled) return "disabled";
  return hasExpired(record, now) ? "expired" : "enabled";
}

import type { KeyRecord, Scope } from "../store.ts";

export interface KeyRow {
  id: string;
  name: string;
  hash: string;
  scopes: string;
  rate: number | null;
  /** SQLite has 0 and 1. */
  disabled: boolean | 0 | 1;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
}

export const KEY_COLUMNS = "id, name, hash, scopes, rate, disabled, created_at, expires_at, last_used_at";

export function keyRow(key: KeyRecord): KeyRow {
  return {
    id: key.id,
    name: key.name,
    hash: key.hash,
    scopes: key.scopes.join(","),
    rate: key.rate ?? null,
    disabled: key.disabled,
    created_at: key.createdAt,
    expires_at: key.expiresAt ?? null,
    last_used_at: key.lastUsedAt ?? null,
  };
}

export function toKey(row: KeyRow): KeyRecord {
  const key: KeyRecord = {
    id: row.id,
    name: row.name,
    hash: row.hash,
    scopes: row.scopes === "" ? [] : row.scopes.split(",") as Scope[],
    disabled: Boolean(row.disabled),
    createdAt: row.created_at,
  };
  if (row.rate !== null) key.rate = row.rate;
  if (row.expires_at !== null) key.expiresAt = row.expires_at;
  if (row.last_used_at !== null) key.lastUsedAt = row.last_used_at;
  return key;
}

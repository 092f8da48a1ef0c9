import { mintKey } from "../../lib/keys/api_key.ts";
import type { KeyRecord } from "../../lib/store/store.ts";

export const NOW = Date.parse("2026-03-01T12:00:00.000Z");

export const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

/** A key with all scopes, and its record with these fields changed. */
export function testKey(changed: Partial<KeyRecord> = {}): { key: string; record: KeyRecord } {
  const { key, record } = mintKey({ name: "test", scopes: ["read", "write", "webhooks"], now: NOW, random });
  return { key, record: { ...record, ...changed } };
}

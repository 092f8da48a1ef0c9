import { hash as oneShotHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { type KeyRecord, type Scope, SCOPES } from "../store/store.ts";
import { encodeBase62, randomBase62, type RandomBytes } from "../random.ts";

const PREFIX = "service_sk_";
/** 62^10 ids: among 100 000 keys the odds of a collision are below 1 in 10^8. The store refuses a second key with an id. */
const ID_LENGTH = 10;
/** 28 digits are 166 bits. */
const SECRET_LENGTH = 28;
/** A CRC-32 fits, because 62^6 exceeds 2^32. */
const CHECKSUM_LENGTH = 6;

const KEY_PATTERN = new RegExp(
  `^${PREFIX}([0-9A-Za-z]{${ID_LENGTH}})_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`,
);
const KEY_LENGTH = PREFIX.length + ID_LENGTH + 1 + SECRET_LENGTH + CHECKSUM_LENGTH;

export const MAX_RATE = 1_000_000;
export const MAX_NAME_LENGTH = 64;
/** Letters, marks, digits, punctuation, symbols and the plain space: nothing that moves a terminal's cursor. */
export const NAME_PATTERN = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;

/** The character that runtimes substitute for bytes that are no UTF-8. */
const NOT_UTF8 = "\ufffd";

/** A field of a new key is wrong. `message` continues the field's name with "must be …". */
export class KeyFieldError extends Error {
  constructor(readonly field: "name" | "scopes" | "rate" | "expiresAt", message: string) {
    super(message);
    this.name = "KeyFieldError";
  }
}

export interface NewKey {
  /** 1–64 printable characters. */
  name: string;
  /** At least one of `read`, `write`, `webhooks`. */
  scopes: readonly string[];
  /** Requests per minute, 1–1 000 000; the gateway's default when absent. */
  rate?: number;
  /** ISO 8601 with a zone, in the future; the key does not expire when absent. */
  expiresAt?: string;
  /** Unix ms. */
  now: number;
  random: RandomBytes;
}

/**
 * Makes a key `service_sk_<id>_<secret>` and its record. The record has a hash only, so show the key at once.
 * @throws {KeyFieldError}
 */
export function mintKey(wanted: NewKey): { key: string; record: KeyRecord } {
  const { rate } = wanted;
  if (rate !== undefined && !(Number.isInteger(rate) && rate >= 1 && rate <= MAX_RATE)) {
    throw new KeyFieldError("rate", `must be an integer from 1 to ${MAX_RATE} requests a minute; got ${rate}`);
  }
  const name = checkedName(wanted.name);
  const scopes = checkedScopes(wanted.scopes);
  const expiresAt = wanted.expiresAt === undefined ? undefined : checkedExpiry(wanted.expiresAt, wanted.now);

  const id = randomBase62(ID_LENGTH, wanted.random);
  const unchecked = `${PREFIX}${id}_${randomBase62(SECRET_LENGTH, wanted.random)}`;
  const key = unchecked + checksum(unchecked);
  const record: KeyRecord = {
    id,
    name,
    hash: hashKey(key),
    scopes,
    ...(rate === undefined ? {} : { rate }),
    disabled: false,
    createdAt: new Date(wanted.now).toISOString(),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  return { key, record };
}

export type ParsedKey = { id: string } | { error: "malformed" | "checksum" };

/** The id of a presented key, or the error in its form or checksum. */
export function parseKey(text: string): ParsedKey {
  if (text.length !== KEY_LENGTH) return { error: "malformed" };
  const id = KEY_PATTERN.exec(text)?.[1];
  if (id === undefined) return { error: "malformed" };
  const unchecked = text.slice(0, -CHECKSUM_LENGTH);
  return text.slice(-CHECKSUM_LENGTH) === checksum(unchecked) ? { id } : { error: "checksum" };
}

/** SHA-256 of the whole key string, 64 lower-case hex digits. */
export function hashKey(key: string): string {
  return oneShotHash("sha256", key, "hex");
}

/** Compares two hashes in constant time. */
export function sameHash(a: string, b: string): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a.charCodeAt(i) ^ b.charCodeAt(i);
  return difference === 0;
}

/** Covers prefix and id too, so it detects a typo anywhere. */
function checksum(unchecked: string): string {
  return encodeBase62(crc32(unchecked), CHECKSUM_LENGTH);
}

function checkedName(text: string): string {
  const name = text.trim();
  if (name === "" || [...name].length > MAX_NAME_LENGTH || !NAME_PATTERN.test(name)) {
    throw new KeyFieldError("name", `must be 1–${MAX_NAME_LENGTH} printable characters; got ${JSON.stringify(text)}`);
  }
  if (name.includes(NOT_UTF8)) throw new KeyFieldError("name", `must be valid UTF-8; got ${JSON.stringify(text)}`);
  return name;
}

function checkedScopes(wanted: readonly string[]): Scope[] {
  const unknown = wanted.find((scope) => !(SCOPES as readonly string[]).includes(scope));
  if (unknown !== undefined) {
    throw new KeyFieldError("scopes", `must be some of ${SCOPES.join(", ")}; got ${JSON.stringify(unknown)}`);
  }
  if (wanted.length === 0) throw new KeyFieldError("scopes", `must name at least one of ${SCOPES.join(", ")}`);
  return SCOPES.filter((scope) => wanted.includes(scope));
}

function checkedExpiry(text: string, now: number): string {
  const atMs = Date.parse(text);
  // Without a zone the time would depend on the machine.
  const zoned = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/.test(text);
  if (zoned && (Number.isNaN(atMs) || !isDay(text.slice(0, 10)))) {
    throw new KeyFieldError("expiresAt", `must be a day and time that exist; got ${JSON.stringify(text)}`);
  }
  if (!zoned) {
    throw new KeyFieldError(
      "expiresAt",
      "must be an ISO 8601 date (2027-01-31) or time with its zone (2027-01-31T12:00:00Z); " +
        `got ${JSON.stringify(text)}`,
    );
  }
  if (atMs <= now) {
    throw new KeyFieldError("expiresAt", `must be in the future; got ${JSON.stringify(text)}`);
  }
  return new Date(atMs).toISOString();
}

/** Some engines parse 30 February as 2 March. */
function isDay(date: string): boolean {
  const atMs = Date.parse(date);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(date);
}

/** Whether the key has expired. @param now Unix ms */
export function hasExpired({ expiresAt }: Pick<KeyRecord, "expiresAt">, now: number): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= now;
}

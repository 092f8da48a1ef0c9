import type { Kv, KvKey } from "../../runtime/kv.ts";
import { collect } from "./database.ts";

/** A value that may be larger than Deno KV takes: its JSON, cut in pieces under one prefix. */
interface Piece {
  /** How many there are; what is left of a longer value comes after them. */
  of: number;
  text: string;
}

/** Two bytes a character at most, of 64 KiB. */
const PIECE_CHARACTERS = 30_000;

/** What to write for a value. */
export function toPieces(key: KvKey, value: unknown): { key: KvKey; value: Piece }[] {
  const text = JSON.stringify(value);
  const of = Math.ceil(text.length / PIECE_CHARACTERS);
  return Array.from({ length: of }, (_, n) => ({
    key: [...key, n],
    value: { of, text: text.slice(n * PIECE_CHARACTERS, (n + 1) * PIECE_CHARACTERS) },
  }));
}

/** The value in pieces under this key, undefined when there is none. */
export async function readPieces<T>(kv: Kv, key: KvKey): Promise<T | undefined> {
  const pieces = (await collect(kv.list<Piece>({ prefix: key }, { batchSize: 500 }))).map(({ value }) => value);
  const [first] = pieces;
  if (first === undefined || pieces.length < first.of) return undefined;
  return JSON.parse(pieces.slice(0, first.of).map(({ text }) => text).join(""));
}

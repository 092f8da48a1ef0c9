import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { NewEvent, UndecodedEvent } from "../event.ts";
import { packAddress, packHash, unixSeconds, unpackAddress, unpackHash } from "../codec.ts";
import * as shared from "../sql/event_rows.ts";
import { givenRows, type PostgresContext, type Queries } from "./database.ts";

export interface EventRow extends shared.EventRow<Uint8Array> {
  /** The number of a contract. */
  asset: number | null;
}

const ORIGIN = "contract, height, place, event_index, closed_at, tx_hash";
export const EVENT_COLUMNS =
  `sequence, type, ${ORIGIN}, known_at, device_hash, agent, merchant, amount, asset, payment`;
const UNDECODED_COLUMNS = `${ORIGIN}, raw`;

/** How events are written as rows and read from rows. */
export type { NumberedTexts } from "../sql/event_rows.ts";

export interface EventRows extends shared.EventReader<EventRow, Uint8Array> {
  /** Within a transaction that holds the log's end, as `insertUndecoded`. */
  insert(queries: Queries, placed: (shared.Placed<NewEvent> & { sequence: number; isLate: boolean })[]): Promise<void>;
  insertUndecoded(queries: Queries, placed: shared.Placed<UndecodedEvent>[]): Promise<void>;
}

export function postgresEventRows(context: PostgresContext): EventRows {
  const { prefix } = context;

  return {
    ...shared.sqlEventReader<EventRow, Uint8Array>(context.sql, {
      hashOf: (column) => unpack(column, unpackHash),
      addressOf: (column) => unpack(column, unpackAddress),
      amountOf: ({ amount, asset }, contractOf) => ({
        ...(amount === null ? {} : { amount }),
        ...(asset === null ? {} : { asset: contractOf.get(asset)! }),
      }),
      contractsOf: ({ contract, asset }) => asset === null ? [contract] : [contract, asset],
    }),
    async insert(queries, placed) {
      if (placed.length === 0) return;
      const named = placed.flatMap(({ event: { contractId, asset } }) =>
        asset === undefined ? contractId : [contractId, asset]
      );
      const [typeOf, contractOf] = await Promise.all([
        addTexts(queries, `${prefix}event_type`, placed.map(({ event }) => event.type)),
        addTexts(queries, `${prefix}contract`, named),
      ]);
      const rows = placed.map(({ event, id, sequence, isLate }) => ({
        ...id,
        sequence,
        type: typeOf.get(event.type),
        contract: contractOf.get(event.contractId),
        closed_at: unixSeconds(event.ledgerClosedAt),
        known_at: event.knownAt,
        is_late: isLate,
        tx_hash: hexOf(packHash(event.txHash)),
        device_hash: event.deviceHash === undefined ? null : hexOf(packHash(event.deviceHash)),
        agent: event.agent === undefined ? null : hexOf(packAddress(event.agent)),
        merchant: event.merchant === undefined ? null : hexOf(packAddress(event.merchant)),
        amount: event.amount ?? null,
        asset: event.asset === undefined ? null : contractOf.get(event.asset),
        payment: event.payment === undefined ? null : JSON.stringify(event.payment),
      }));
      await queries.write(
        `INSERT INTO ${prefix}event (is_late, indexed_sequence, ${EVENT_COLUMNS})
        SELECT is_late, sequence, sequence, type, contract, height, place, event_index, closed_at, decode(tx_hash, 'hex'), known_at,
          decode(device_hash, 'hex'), decode(agent, 'hex'), decode(merchant, 'hex'), amount, asset,
          payment
        FROM json_to_recordset($1::text::json) AS given (sequence bigint, type integer, contract integer, height bigint,
          place bigint, event_index bigint, closed_at bigint, known_at bigint, is_late boolean, tx_hash text,
          device_hash text, agent text, merchant text, amount text, asset integer, payment text)`,
        [rows],
      );
    },
    async insertUndecoded(queries, placed) {
      if (placed.length === 0) return;
      const contractOf = await addTexts(queries, `${prefix}contract`, placed.map(({ event }) => event.contractId));
      const rows = placed.map(({ event, id }) => ({
        ...id,
        contract: contractOf.get(event.contractId),
        closed_at: unixSeconds(event.ledgerClosedAt),
        tx_hash: hexOf(packHash(event.txHash)),
        raw: JSON.stringify(event.raw),
      }));
      await queries.write(
        `INSERT INTO ${prefix}undecoded_event (${UNDECODED_COLUMNS})
        SELECT contract, height, place, event_index, closed_at, decode(tx_hash, 'hex'), raw
        FROM json_to_recordset($1::text::json) AS given (height bigint, place bigint, event_index bigint,
          contract integer, closed_at bigint, tx_hash text, raw text)`,
        [rows],
      );
    },
  };
}

/** The first byte of a packed text: 0 before the packed bytes, 1 before the UTF-8 of a text of another form. */
const BYTES = 0;
const TEXT = 1;

/** A hash or an address as one column of bytes. */
export function columnOf(packed: Uint8Array | string): Uint8Array {
  const isText = typeof packed === "string";
  return Buffer.concat([Buffer.of(isText ? TEXT : BYTES), isText ? Buffer.from(packed) : packed]);
}

function hexOf(packed: Uint8Array | string): string {
  return Buffer.from(columnOf(packed)).toString("hex");
}

function unpack(column: Uint8Array, unpacked: (bytes: Uint8Array) => string): string {
  const bytes = column.subarray(1);
  return column[0] === TEXT ? Buffer.from(bytes).toString() : unpacked(bytes);
}

/**
 * The numbers of texts. New texts are added, within a transaction that holds the log's end. A text has the same number
 * whenever it is added, so memory stays true after the promotion of a standby that lacks the newest texts.
 */
async function addTexts(queries: Queries, table: string, texts: string[]): Promise<Map<string, number>> {
  const wanted = [...new Set(texts)];
  const found = await queries.read<{ number: number; text: string }>(
    `SELECT number, text FROM ${table} WHERE text IN (SELECT text FROM ${givenRows("text text")})`,
    [wanted.map((text) => ({ text }))],
  );
  const numbers = new Map(found.map(({ number, text }) => [text, number]));
  for (const text of wanted) if (!numbers.has(text)) numbers.set(text, await addOne(queries, table, text));
  return numbers;
}

async function addOne(queries: Queries, table: string, text: string): Promise<number> {
  // The number is 30 bits of the text's SHA-256, or the next number that no other text has.
  for (let number = createHash("sha256").update(text).digest().readUInt32BE() >>> 2;; number++) {
    await queries.write(
      `INSERT INTO ${table} (number, text) VALUES ($1::integer, $2::text) ON CONFLICT DO NOTHING`,
      [number, text],
    );
    const [row] = await queries.read<{ number: number }>(`SELECT number FROM ${table} WHERE text = $1`, [text]);
    if (row !== undefined) return row.number;
  }
}

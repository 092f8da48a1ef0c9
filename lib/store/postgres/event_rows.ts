import { Buffer } from "node:buffer";
import { type LoggedEvent, type NewEvent, publicEvent, type UndecodedEvent } from "../event.ts";
import { packAddress, packHash, unixSeconds, unpackAddress, unpackHash } from "../packing.ts";
import { type IdColumns, type OriginRow, toOrigin } from "../sql/event_rows.ts";
import type { PostgresContext, Queries } from "./database.ts";
import { postgresWords, type Words } from "./words.ts";

export interface EventRow extends OriginRow<Uint8Array> {
  sequence: number;
  type: number;
  known_at: number;
  device_hash: Uint8Array | null;
  agent: Uint8Array | null;
  merchant: Uint8Array | null;
  amount: string | null;
  /** Among the contracts. */
  asset: number | null;
}

export interface UndecodedRow extends OriginRow<Uint8Array> {
  /** JSON. */
  raw: string;
}

const ORIGIN = "contract, height, place, event_index, closed_at, tx_hash";
export const EVENT_COLUMNS = `sequence, type, ${ORIGIN}, known_at, device_hash, agent, merchant, amount, asset`;
export const UNDECODED_COLUMNS = `${ORIGIN}, raw`;

/** An event that is to be written at its place. */
export interface Placed<Event> {
  event: Event;
  id: IdColumns;
}

/** A new event with the sequence that the log gave it, as it is read again. */
export function loggedEvent(event: NewEvent, sequence: number): LoggedEvent {
  const { asset: _, ...shown } = publicEvent(event);
  const logged: LoggedEvent = { ...shown, knownAt: event.knownAt, sequence };
  if (event.asset !== undefined) logged.asset = event.asset;
  return logged;
}

/** How events are written as rows and read from them. */
export interface EventRows {
  types: Words;
  toEvents(rows: EventRow[]): Promise<LoggedEvent[]>;
  toUndecoded(rows: UndecodedRow[]): Promise<UndecodedEvent[]>;
  /** Both to be called within a transaction that holds the log's end. */
  insert(queries: Queries, placed: (Placed<NewEvent> & { sequence: number; isLate: boolean })[]): Promise<void>;
  insertUndecoded(queries: Queries, placed: Placed<UndecodedEvent>[]): Promise<void>;
}

export function postgresEventRows(context: Pick<PostgresContext, "database" | "prefix">): EventRows {
  const { prefix } = context;
  const types = postgresWords(context, "event_type");
  const contracts = postgresWords(context, "contract");

  function originOf(row: OriginRow<Uint8Array>, ids: Map<number, string>) {
    return toOrigin(row, { contractId: ids.get(row.contract)!, txHash: unpack(row.tx_hash, unpackHash) });
  }

  function toEvent(row: EventRow, names: Map<number, string>, ids: Map<number, string>): LoggedEvent {
    const { id, ...rest } = originOf(row, ids);
    const event: LoggedEvent = {
      sequence: row.sequence,
      id,
      type: names.get(row.type)!,
      ...rest,
      knownAt: row.known_at,
    };
    if (row.device_hash !== null) event.deviceHash = unpack(row.device_hash, unpackHash);
    if (row.agent !== null) event.agent = unpack(row.agent, unpackAddress);
    if (row.merchant !== null) event.merchant = unpack(row.merchant, unpackAddress);
    if (row.amount !== null) event.amount = row.amount;
    if (row.asset !== null) event.asset = ids.get(row.asset)!;
    return event;
  }

  return {
    types,
    async toEvents(rows) {
      const names = await types.texts(rows.map(({ type }) => type));
      const ids = await contracts.texts(
        rows.flatMap(({ contract, asset }) => asset === null ? contract : [contract, asset]),
      );
      return rows.map((row) => toEvent(row, names, ids));
    },
    async toUndecoded(rows) {
      const ids = await contracts.texts(rows.map(({ contract }) => contract));
      return rows.map((row) => {
        const { id, ...rest } = originOf(row, ids);
        return { id, type: null, ...rest, raw: JSON.parse(row.raw) };
      });
    },
    async insert(queries, placed) {
      if (placed.length === 0) return;
      const named = placed.flatMap(({ event: { contractId, asset } }) =>
        asset === undefined ? contractId : [contractId, asset]
      );
      const [typeOf, contractOf] = await Promise.all([
        types.add(queries, placed.map(({ event }) => event.type)),
        contracts.add(queries, named),
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
      }));
      await queries.write(
        `INSERT INTO ${prefix}event (is_late, indexed_sequence, ${EVENT_COLUMNS})
        SELECT is_late, sequence, sequence, type, contract, height, place, event_index, closed_at, decode(tx_hash, 'hex'), known_at,
          decode(device_hash, 'hex'), decode(agent, 'hex'), decode(merchant, 'hex'), amount, asset
        FROM json_to_recordset($1::text::json) AS given (sequence bigint, type integer, contract integer, height bigint,
          place bigint, event_index bigint, closed_at bigint, known_at bigint, is_late boolean, tx_hash text,
          device_hash text, agent text, merchant text, amount text, asset integer)`,
        [rows],
      );
    },
    async insertUndecoded(queries, placed) {
      if (placed.length === 0) return;
      const contractOf = await contracts.add(queries, placed.map(({ event }) => event.contractId));
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

/** The first byte of a packed text: whether the bytes it stands for follow, or, where it has another form, its UTF-8. */
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

import { isoSeconds } from "../../clock.ts";
import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import {
  formatEventId,
  heightOf,
  type LoggedEvent,
  type NewEvent,
  parseEventId,
  type UndecodedEvent,
} from "../event.ts";
import { packAddress, packAmount, packHash, unixSeconds, unpackAddress, unpackAmount, unpackHash } from "../packing.ts";
import { sqliteWords, type Words } from "./words.ts";

type Packed = Uint8Array | string;

/** What decoded and undecoded events have. */
interface OriginRow {
  contract: number;
  height: number;
  place: number;
  event_index: number;
  closed_at: number;
  tx_hash: Packed;
}

export interface EventRow extends OriginRow {
  sequence: number;
  type: number;
  known_at: number;
  device_hash: Packed | null;
  agent: Packed | null;
  merchant: Packed | null;
  /** `packAmount`. */
  amount: string | null;
}

export interface UndecodedRow extends OriginRow {
  /** JSON. */
  raw: string;
}

/** What of an event's id its place in the epoch's order is, as columns. */
export type IdColumns = [height: number, place: number, eventIndex: number];

/** The columns of an id; undefined for text that is no event id. */
export function idColumns(id: string): IdColumns | undefined {
  const parts = parseEventId(id);
  return parts && [heightOf(parts.epoch, parts.ledger), parts.order, parts.index];
}

/** The columns of an id. Throws a plain Error for text that is none: such an event never comes from outside. */
export function requireId(id: string): IdColumns {
  const columns = idColumns(id);
  if (columns === undefined) throw new Error(`not an event id: ${JSON.stringify(id)}`);
  return columns;
}

/** What an event has beside its id, and the ledger in it. */
type WithoutId<Event> = Omit<Event, "id" | "ledger">;

/** How events are written as rows and read from them. */
export interface EventRows {
  types: Words;
  toEvent(row: EventRow): LoggedEvent;
  toUndecoded(row: UndecodedRow): UndecodedEvent;
  /** Both to be called within a transaction. */
  insert(event: WithoutId<NewEvent>, id: IdColumns, log: { sequence: number; isLate: boolean }): void;
  insertUndecoded(event: Omit<WithoutId<UndecodedEvent>, "type">, id: IdColumns): void;
}

const EPOCH = 2 ** 32;

export function sqliteEventRows(database: SqliteDatabase): EventRows {
  const types = sqliteWords(database, "event_type");
  const contracts = sqliteWords(database, "contract");
  const insert = database.prepare(`
    INSERT INTO event (sequence, type, contract, height, place, event_index, closed_at, known_at, is_late, tx_hash,
      device_hash, agent, merchant, amount)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertUndecoded = database.prepare(`
    INSERT INTO undecoded_event (height, place, event_index, contract, closed_at, tx_hash, raw)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);

  function origin({ contract, height, place, event_index, closed_at, tx_hash }: OriginRow) {
    const ledger = height % EPOCH;
    return {
      id: formatEventId({ epoch: Math.floor(height / EPOCH), ledger, order: place, index: event_index }),
      contractId: contracts.text(contract),
      ledger,
      ledgerClosedAt: isoSeconds(closed_at * 1_000),
      txHash: unpackHash(tx_hash),
    };
  }

  return {
    types,
    toEvent(row) {
      const { id, contractId, ledger, ledgerClosedAt, txHash } = origin(row);
      const { sequence, known_at: knownAt } = row;
      const type = types.text(row.type);
      const event: LoggedEvent = { sequence, id, type, contractId, ledger, ledgerClosedAt, txHash, knownAt };
      if (row.device_hash !== null) event.deviceHash = unpackHash(row.device_hash);
      if (row.agent !== null) event.agent = unpackAddress(row.agent);
      if (row.merchant !== null) event.merchant = unpackAddress(row.merchant);
      return row.amount === null ? event : { ...event, ...unpackAmount(row.amount) };
    },
    toUndecoded(row) {
      const { id, ...rest } = origin(row);
      return { id, type: null, ...rest, raw: JSON.parse(row.raw) };
    },
    insert(event, id, { sequence, isLate }) {
      const { deviceHash, agent, merchant, amount, asset } = event;
      insert.run(
        sequence,
        types.add(event.type),
        contracts.add(event.contractId),
        ...id,
        unixSeconds(event.ledgerClosedAt),
        event.knownAt,
        isLate ? 1 : 0,
        packHash(event.txHash),
        deviceHash === undefined ? null : packHash(deviceHash),
        agent === undefined ? null : packAddress(agent),
        merchant === undefined ? null : packAddress(merchant),
        packAmount(amount, asset),
      );
    },
    insertUndecoded({ contractId, ledgerClosedAt, txHash, raw }, id) {
      const closedAt = unixSeconds(ledgerClosedAt);
      insertUndecoded.run(...id, contracts.add(contractId), closedAt, packHash(txHash), JSON.stringify(raw));
    },
  };
}

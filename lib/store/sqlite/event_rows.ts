import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import type { LoggedEvent, NewEvent, UndecodedEvent } from "../event.ts";
import { packAddress, packAmount, packHash, unixSeconds, unpackAddress, unpackAmount, unpackHash } from "../codec.ts";
import { type IdColumns, type OriginRow, toOrigin } from "../sql/event_rows.ts";
import { rowValues } from "./database.ts";

type Packed = Uint8Array | string;

export interface EventRow extends OriginRow<Packed> {
  sequence: number;
  type: number;
  known_at: number;
  device_hash: Packed | null;
  agent: Packed | null;
  merchant: Packed | null;
  /** `packAmount`. */
  amount: string | null;
}

export interface UndecodedRow extends OriginRow<Packed> {
  /** JSON. */
  raw: string;
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

  function originOf(row: OriginRow<Packed>) {
    return toOrigin(row, { contractId: contracts.text(row.contract), txHash: unpackHash(row.tx_hash) });
  }

  return {
    types,
    toEvent(row) {
      const { id, contractId, ledger, ledgerClosedAt, txHash } = originOf(row);
      const { sequence, known_at: knownAt } = row;
      const type = types.text(row.type);
      const event: LoggedEvent = { sequence, id, type, contractId, ledger, ledgerClosedAt, txHash, knownAt };
      if (row.device_hash !== null) event.deviceHash = unpackHash(row.device_hash);
      if (row.agent !== null) event.agent = unpackAddress(row.agent);
      if (row.merchant !== null) event.merchant = unpackAddress(row.merchant);
      return row.amount === null ? event : { ...event, ...unpackAmount(row.amount) };
    },
    toUndecoded(row) {
      const { id, ...rest } = originOf(row);
      return { id, type: null, ...rest, raw: JSON.parse(row.raw) };
    },
    insert(event, id, { sequence, isLate }) {
      const { deviceHash, agent, merchant, amount, asset } = event;
      insert.run(
        sequence,
        types.add(event.type),
        contracts.add(event.contractId),
        ...rowValues(id),
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
      insertUndecoded.run(...rowValues(id), contracts.add(contractId), closedAt, packHash(txHash), JSON.stringify(raw));
    },
  };
}

/**
 * The texts that events name by number: few, so all of them are kept in memory. Only `add` is for use within a transaction:
 * what that has written may be rolled back, and must not be remembered.
 */
export interface Words {
  /** The number of a text, undefined when it is not held. */
  find(text: string): number | undefined;
  /** All numbers there are. */
  numbers(): number[];
  /** The text of a number that is held. */
  text(number: number): string;
  /** The number of a text, which is added when it is new; to be called within a transaction. */
  add(text: string): number;
}

/** @param table `event_type` or `contract`: nothing is ever deleted from them, so their numbers are 1, 2, 3 … */
function sqliteWords(database: SqliteDatabase, table: "event_type" | "contract"): Words {
  const newest = database.prepare<{ number: number | null }>(`SELECT max(number) AS number FROM ${table}`);
  const readAll = database.prepare<{ number: number; text: string }>(`SELECT number, text FROM ${table}`);
  const read = database.prepare<{ number: number }>(`SELECT number FROM ${table} WHERE text = ?`);
  const insert = database.prepare<{ number: number }>(`INSERT INTO ${table} (text) VALUES (?) RETURNING number`);
  const textOf = new Map<number, string>();
  const numberOf = new Map<string, number>();

  /** Another handle may have added some. */
  function refresh(): void {
    if ((newest.get()!.number ?? 0) === textOf.size) return;
    for (const { number, text } of readAll.all()) {
      textOf.set(number, text);
      numberOf.set(text, number);
    }
  }

  return {
    find(text) {
      if (!numberOf.has(text)) refresh();
      return numberOf.get(text);
    },
    numbers() {
      refresh();
      return [...textOf.keys()];
    },
    text(number) {
      if (!textOf.has(number)) refresh();
      return textOf.get(number)!;
    },
    add: (text) => numberOf.get(text) ?? read.get(text)?.number ?? insert.get(text)!.number,
  };
}

import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { packAddress, packAmount, packHash, unixSeconds, unpackAddress, unpackAmount, unpackHash } from "../codec.ts";
import type { NewEvent, UndecodedEvent } from "../event.ts";
import * as shared from "../sql/event_rows.ts";
import { rowValues, type SqliteContext } from "./database.ts";

type Packed = Uint8Array | string;
export type EventRow = shared.EventRow<Packed>;
export type { NumberedTexts } from "../sql/event_rows.ts";

/** The fields of an event without its id, and without the ledger in it. */
type WithoutId<Event> = Omit<Event, "id" | "ledger">;

/** How events are written as rows and read from rows. */
export interface EventRows extends shared.EventReader<EventRow, Packed> {
  /** Within a transaction, as `insertUndecoded`. */
  insert(event: WithoutId<NewEvent>, id: shared.IdColumns, log: { sequence: number; isLate: boolean }): void;
  insertUndecoded(event: Omit<WithoutId<UndecodedEvent>, "type">, id: shared.IdColumns): void;
}

export function sqliteEventRows({ database, sql }: SqliteContext): EventRows {
  const addType = adder(database, "event_type");
  const addContract = adder(database, "contract");
  const insert = database.prepare(`
    INSERT INTO event (sequence, type, contract, height, place, event_index, closed_at, known_at, is_late, tx_hash,
      device_hash, agent, merchant, amount, payment)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const insertUndecoded = database.prepare(`
    INSERT INTO undecoded_event (height, place, event_index, contract, closed_at, tx_hash, raw)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);

  return {
    ...shared.sqlEventReader<EventRow, Packed>(sql, {
      hashOf: unpackHash,
      addressOf: unpackAddress,
      amountOf: ({ amount }) => amount === null ? {} : unpackAmount(amount),
      contractsOf: ({ contract }) => [contract],
    }),
    insert(event, id, { sequence, isLate }) {
      const { deviceHash, agent, merchant, amount, asset, payment } = event;
      insert.run(
        sequence,
        addType(event.type),
        addContract(event.contractId),
        ...rowValues(id),
        unixSeconds(event.ledgerClosedAt),
        event.knownAt,
        isLate ? 1 : 0,
        packHash(event.txHash),
        deviceHash === undefined ? null : packHash(deviceHash),
        agent === undefined ? null : packAddress(agent),
        merchant === undefined ? null : packAddress(merchant),
        packAmount(amount, asset),
        payment === undefined ? null : JSON.stringify(payment),
      );
    },
    insertUndecoded({ contractId, ledgerClosedAt, txHash, raw }, id) {
      const closedAt = unixSeconds(ledgerClosedAt);
      insertUndecoded.run(...rowValues(id), addContract(contractId), closedAt, packHash(txHash), JSON.stringify(raw));
    },
  };
}

/** Adds a text that is new, within a transaction, and returns its number. Memory must not keep what may be rolled back. */
function adder(database: SqliteDatabase, table: "event_type" | "contract"): (text: string) => number {
  const read = database.prepare<{ number: number }>(`SELECT number FROM ${table} WHERE text = ?`);
  const insert = database.prepare<{ number: number }>(`INSERT INTO ${table} (text) VALUES (?) RETURNING number`);
  return (text) => (read.get(text) ?? insert.get(text)!).number;
}

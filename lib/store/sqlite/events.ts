import type { Row } from "../../runtime/sqlite.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import { readsAgain } from "../fan_out_cursor.ts";
import type { SqliteContext } from "./store.ts";
import type { SqliteLateness } from "./late_events.ts";
import type { Store, StoredEvent, WatcherState } from "../store.ts";

type EventMethods = Pick<Store, "watcherState" | "commitEvents" | "undecodedEvents" | "decodeEvents" | "gaps">;

/** What the watcher writes. Undecoded events have a table of their own, so that no page of the history passes over them. */
export function sqliteEvents({ database, run }: SqliteContext, lateness: SqliteLateness): EventMethods {
  const readState = database.prepare("SELECT state FROM watcher");
  const writeState = database.prepare("INSERT OR REPLACE INTO watcher (only_row, state) VALUES (1, ?)");
  const isUndecoded = database.prepare("SELECT 1 FROM undecoded_event WHERE position = ?");
  const isDecoded = database.prepare("SELECT 1 FROM event WHERE position = ?");
  const insertDecoded = database.prepare(`
    INSERT INTO event (position, id, type, contract_id, ledger, ledger_closed_at, tx_hash, device_hash, agent, merchant, amount)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (position) DO NOTHING`);
  const insertUndecoded = database.prepare(`
    INSERT INTO undecoded_event (position, id, contract_id, ledger, ledger_closed_at, tx_hash, raw)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (position) DO NOTHING`);
  const listUndecoded = database.prepare("SELECT * FROM undecoded_event WHERE position > ? ORDER BY position LIMIT ?");
  const removeUndecoded = database.prepare("DELETE FROM undecoded_event WHERE position = ?");
  const insertGap = database.prepare(`
    INSERT INTO gap (epoch, from_ledger, to_ledger, noticed_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`);
  const listGaps = database.prepare("SELECT * FROM gap ORDER BY epoch, from_ledger, to_ledger");

  const state = (): WatcherState | undefined => {
    const row = readState.get();
    return row && JSON.parse(row.state as string);
  };

  /** True when it was not held before. */
  function insert(event: StoredEvent): boolean {
    const { position, id, type, contractId, ledger, ledgerClosedAt, txHash } = event;
    if (type === null) {
      const raw = event.raw ? JSON.stringify(event.raw) : null;
      return insertUndecoded.run(position, id, contractId, ledger, ledgerClosedAt, txHash, raw).changes > 0;
    }
    const { deviceHash = null, agent = null, merchant = null, amount = null } = event;
    const { changes } = insertDecoded.run(
      position,
      id,
      type,
      contractId,
      ledger,
      ledgerClosedAt,
      txHash,
      deviceHash,
      agent,
      merchant,
      amount,
    );
    return changes > 0;
  }

  return {
    watcherState: () => run(state),
    commitEvents: ({ events, state: next, gaps = [] }) =>
      run(() => {
        checkBatch(events, 100);
        database.transaction(() => {
          const added = events.filter((event) => {
            const other = event.type === null ? isDecoded : isUndecoded;
            return !other.get(event.position) && insert(event);
          });
          lateness.note(added.filter(({ position }) => !lateness.isPruned(position)));
          if (readsAgain(added, next, state())) lateness.raiseRereads();
          for (const gap of gaps) insertGap.run(gap.epoch, gap.fromLedger, gap.toLedger, gap.noticedAt);
          writeState.run(JSON.stringify(next));
        });
      }),
    undecodedEvents: ({ after, limit }) =>
      run(() => {
        checkLimit(limit, 100);
        return listUndecoded.all(after ?? "", limit).map(toUndecoded);
      }),
    decodeEvents: (events) =>
      run(() => {
        checkBatch(events, 100);
        database.transaction(() => {
          const held = events.filter(({ position }) => removeUndecoded.run(position).changes > 0);
          for (const event of held) insert(event);
          lateness.note(held);
          if (held.some(({ type }) => type !== null)) lateness.raiseRereads();
        });
      }),
    gaps: () =>
      run(() =>
        listGaps.all().map((row) => ({
          epoch: row.epoch as number,
          fromLedger: row.from_ledger as number,
          toLedger: row.to_ledger as number,
          noticedAt: row.noticed_at as string,
        }))
      ),
  };
}

function toUndecoded(row: Row): StoredEvent {
  const event: StoredEvent = {
    position: row.position as string,
    id: row.id as string,
    type: null,
    contractId: row.contract_id as string,
    ledger: row.ledger as number,
    ledgerClosedAt: row.ledger_closed_at as string,
    txHash: row.tx_hash as string,
  };
  if (row.raw !== null) event.raw = JSON.parse(row.raw as string);
  return event;
}

import type { SqliteDatabase } from "../../runtime/sqlite.ts";
import { heightOf, ledgerOfHeight } from "../event.ts";
import type { IdColumns } from "../sql/event_rows.ts";
import type { WatcherState } from "../store.ts";
import type { EventRows } from "./event_rows.ts";
import type { SqliteLog } from "./log.ts";
import { unixSeconds } from "../packing.ts";

interface FormerEventRow {
  position: string;
  type: string;
  contract_id: string;
  ledger_closed_at: string;
  tx_hash: string;
  device_hash: string | null;
  agent: string | null;
  merchant: string | null;
  amount: string | null;
}

/** The watcher's state as schema 3 kept it. */
interface FormerWatcherState {
  epoch: number;
  /** Comma-separated. */
  contractIds: string;
  oldestLedger: number;
  scannedLedger: number;
  latestLedgerCloseTime: number;
  latestLedger: number;
  rpcCursor?: string;
}

const PAGE = 1_000;

/**
 * A position of schema 3 as the columns of an event's id: a 4-digit epoch, `/`, the RPC's event id. It is also the end of a
 * ledger, which no event is at.
 */
export function columnsOfPosition(position: string): IdColumns {
  const [, epoch, toid, index] = /^(\d{4})\/(\d{19})-(\d{10})$/.exec(position) ?? [];
  if (toid === undefined) return { height: 0, place: 0, event_index: 0 };
  const ledger = Number(BigInt(toid) >> 32n);
  const place = Number(BigInt(toid) & 0xffff_ffffn);
  return { height: heightOf(Number(epoch), ledger), place, event_index: Number(index) };
}

/**
 * Gives the events their sequences: by position, and last those that were waiting to be handed on because they had become
 * known late. When each became known was not kept: its ledger's close time stands for it.
 *
 * @returns the sequence of the last event by position: those above it came late
 */
export function migrateEvents(database: SqliteDatabase, rows: EventRows, log: SqliteLog): number {
  const page = database.prepare<FormerEventRow>(`
    SELECT * FROM former_event AS event WHERE position > ? AND
      NOT EXISTS (SELECT 1 FROM former_late_event AS late WHERE late.position = event.position)
    ORDER BY position LIMIT ${PAGE}`);
  const pageOfLate = database.prepare<FormerEventRow>(`
    SELECT event.* FROM former_late_event AS late JOIN former_event AS event ON event.position = late.position
    WHERE late.position > ? ORDER BY late.position LIMIT ${PAGE}`);

  function append(row: FormerEventRow): void {
    const id = columnsOfPosition(row.position);
    rows.insert(
      {
        type: row.type,
        contractId: row.contract_id,
        ledgerClosedAt: row.ledger_closed_at,
        txHash: row.tx_hash,
        deviceHash: row.device_hash ?? undefined,
        agent: row.agent ?? undefined,
        merchant: row.merchant ?? undefined,
        amount: row.amount ?? undefined,
        knownAt: unixSeconds(row.ledger_closed_at),
      },
      id,
      next(id.height),
    );
  }

  function appendAll(read: typeof page): void {
    for (let after = "";;) {
      const found = read.all(after);
      for (const row of found) append(row);
      if (found.length < PAGE) return;
      after = found.at(-1)!.position;
    }
  }

  // Where some were forgotten, the log does not begin at its beginning.
  if (database.prepare("SELECT 1 FROM former_pruned").get() !== undefined) log.forget(1);
  const next = log.append();
  appendAll(page);
  const inOrder = log.bounds().last;
  appendAll(pageOfLate);
  return inOrder;
}

export function migrateUndecoded(database: SqliteDatabase, rows: EventRows): void {
  const page = database.prepare<Omit<FormerEventRow, "type"> & { raw: string | null }>(
    "SELECT * FROM former_undecoded_event WHERE position > ? ORDER BY position LIMIT 100",
  );
  for (let after = "";;) {
    const found = page.all(after);
    for (const { position, contract_id, ledger_closed_at, tx_hash, raw } of found) {
      const kept = raw === null ? { topics: [], value: "" } : JSON.parse(raw);
      const event = { contractId: contract_id, ledgerClosedAt: ledger_closed_at, txHash: tx_hash, raw: kept };
      rows.insertUndecoded(event, columnsOfPosition(position));
    }
    if (found.length < 100) return;
    after = found.at(-1)!.position;
  }
}

/** Gaps were in a table of their own, and of all contracts; what is held of earlier epochs is found from their events. */
export function migrateWatcher(database: SqliteDatabase): void {
  const row = database.prepare<{ state: string }>("SELECT state FROM former_watcher").get();
  if (row === undefined) return;
  const { contractIds, oldestLedger, ...state } = JSON.parse(row.state) as FormerWatcherState;
  const contracts = contractIds === "" ? [] : contractIds.split(",");
  const gaps = database.prepare<{ epoch: number; from_ledger: number; to_ledger: number; noticed_at: string }>(
    "SELECT * FROM former_gap ORDER BY epoch, from_ledger, to_ledger",
  );
  const next: WatcherState = {
    epoch: state.epoch,
    latestLedger: state.latestLedger,
    latestLedgerCloseTime: state.latestLedgerCloseTime,
    scannedLedger: state.scannedLedger,
    ...(state.rpcCursor === undefined ? {} : { rpcCursor: state.rpcCursor }),
    settledLedger: state.scannedLedger,
    rescans: [],
    checkpoints: [],
    formerCheckpoints: [],
    contracts: Object.fromEntries(contracts.map((id) => [id, { fromLedger: oldestLedger, toLedger: null }])),
    gaps: gaps.all().map((gap) => ({
      epoch: gap.epoch,
      fromLedger: gap.from_ledger,
      toLedger: gap.to_ledger,
      contractIds: contracts,
      noticedAt: gap.noticed_at,
      reason: "pruned",
    })),
    formerEpochs: formerEpochs(database, state.epoch),
  };
  database.prepare("INSERT INTO watcher (only_row, state) VALUES (1, ?)").run(JSON.stringify(next));
}

function formerEpochs(database: SqliteDatabase, current: number): WatcherState["formerEpochs"] {
  const ends = database.prepare<{ first: number | null; last: number | null }>(`
    SELECT (SELECT min(height) FROM event WHERE height >= ?1) AS first,
      (SELECT max(height) FROM event WHERE height < ?2) AS last`);
  const found: WatcherState["formerEpochs"] = [];
  for (let epoch = 0; epoch < current; epoch++) {
    const { first, last } = ends.get(heightOf(epoch, 0), heightOf(epoch + 1, 0))!;
    if (first === null || last === null || first > last) continue;
    found.push({ epoch, fromLedger: ledgerOfHeight(first), toLedger: ledgerOfHeight(last) });
  }
  return found;
}

import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { lockFile } from "../../runtime/file_lock.ts";
import { openSqlite, type SqliteDatabase } from "../../runtime/sqlite.ts";
import { bytesOf, keyOf } from "./bytes.ts";
import type { History } from "./history.ts";
import type { LedgerRecord, TransactionRecord } from "./records.ts";
import type { LedgerState, StateEntry } from "./state.ts";

/** A kill of the process loses nothing. A power failure may lose the last ledgers, which is fine for a test network. */
const DURABILITY = "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL";
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, text TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS entries (
    key BLOB PRIMARY KEY, entry BLOB NOT NULL, live_until INTEGER, ttl_modified INTEGER
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS ledgers (
    sequence INTEGER PRIMARY KEY, close_time INTEGER NOT NULL, hash TEXT NOT NULL, header BLOB NOT NULL,
    evicted TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS transactions (
    ledger INTEGER NOT NULL, place INTEGER NOT NULL, details TEXT NOT NULL, envelope BLOB NOT NULL,
    result BLOB NOT NULL, meta BLOB NOT NULL, fee_changes BLOB NOT NULL, refund_changes BLOB NOT NULL,
    PRIMARY KEY (ledger, place)
  ) STRICT, WITHOUT ROWID;
`;

const OWNER_ONLY = 0o600;

/** The parts that `load` fills. */
export interface Restored {
  state: LedgerState;
  history: History;
  kept: Map<string, string>;
}

/** Entries by key (`keyOf`), undefined for a removed one. */
type Entries = Iterable<[string, StateEntry | undefined]>;

/** A ledger on disk. Each call is one transaction. */
export interface StateFile {
  /** Loads everything. Returns false for an empty file. */
  load(target: Restored): boolean;
  /** Adds closed ledgers with their changes, and drops ledgers before `oldest`. */
  save(closed: readonly { record: LedgerRecord; changes: { entries(): Entries } }[], oldest: number): void;
  /** Makes this ledger the latest one again. */
  returnTo(record: LedgerRecord, entries: Entries): void;
  keep(name: string, text: string): void;
  close(): void;
}

/**
 * Opens or creates the file and locks it until `close`.
 *
 * @throws {Error} when another sandbox uses the file, or its network has another passphrase
 * @throws {Error} with the file system's `code` when the file cannot be created
 * @throws {SqliteError}
 */
export async function openStateFile(path: string, passphrase: string): Promise<StateFile> {
  const lock = await lockFile(`${path}-lock`);
  // Two networks would both close ledgers on top of the last one.
  if (lock === undefined) throw new Error(`another sandbox uses ${path}: stop it, or name another folder`);
  let database: SqliteDatabase | undefined;
  const close = () => {
    database?.close();
    lock.release();
  };
  try {
    makePrivate(path);
    database = await openSqlite(path);
    return stateFileOf(database, { path, passphrase, close });
  } catch (error) {
    close();
    throw error;
  }
}

/** Creates the file for its owner only, because it holds secrets of accounts. SQLite's other files get the same mode. */
function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, "wx", OWNER_ONLY));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
    if ((mode & 0o077) !== 0) tighten(file);
  }
}

function tighten(file: string): void {
  try {
    chmodSync(file, OWNER_ONLY);
  } catch (error) {
    // Another user's file, or a file system without modes. SQLite reports whether it can be used.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") throw error;
  }
}

function stateFileOf(
  database: SqliteDatabase,
  { path, passphrase, close }: { path: string; passphrase: string; close: () => void },
): StateFile {
  database.exec(DURABILITY);
  database.exec(SCHEMA);
  const bound = database.prepare("SELECT text FROM kept WHERE name = 'passphrase'").get()?.text;
  if (bound !== undefined && bound !== passphrase) {
    throw new Error(`${path} belongs to the network "${bound}", but the passphrase is "${passphrase}"`);
  }
  const keep = database.prepare("INSERT OR REPLACE INTO kept (name, text) VALUES (?, ?)");
  if (bound === undefined) keep.run("passphrase", passphrase);
  return {
    load: (target) => load(database, target),
    ...writer(database),
    keep: (name, text) => void keep.run(name, text),
    close,
  };
}

function writer(database: SqliteDatabase): Pick<StateFile, "save" | "returnTo"> {
  const putEntry = database.prepare("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)");
  const removeEntry = database.prepare("DELETE FROM entries WHERE key = ?");
  const putLedger = database.prepare("INSERT OR REPLACE INTO ledgers VALUES (?, ?, ?, ?, ?)");
  const putTransaction = database.prepare("INSERT OR REPLACE INTO transactions VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  const forgetLedgers = database.prepare("DELETE FROM ledgers WHERE sequence < ? OR sequence > ?");
  const forgetTransactions = database.prepare("DELETE FROM transactions WHERE ledger < ? OR ledger > ?");

  function forgetAllBut(oldest: number, latest: number) {
    forgetLedgers.run(oldest, latest);
    forgetTransactions.run(oldest, latest);
  }

  function putEntries(entries: Entries) {
    for (const [key, entry] of entries) {
      const keyXdr = bytesOf(key);
      if (!entry) removeEntry.run(keyXdr);
      else putEntry.run(keyXdr, entry.entryXdr, entry.liveUntilLedger ?? null, entry.ttlModifiedLedger ?? null);
    }
  }

  function putRecord({ sequence, closeTime, hash, headerXdr, evictedKeys, transactions }: LedgerRecord) {
    putLedger.run(sequence, closeTime, hash, headerXdr, JSON.stringify(evictedKeys.map(keyOf)));
    for (const [place, transaction] of transactions.entries()) {
      const { envelopeXdr, resultXdr, metaXdr, feeChangesXdr, refundChangesXdr } = transaction;
      const details = detailsOf(transaction);
      putTransaction.run(sequence, place, details, envelopeXdr, resultXdr, metaXdr, feeChangesXdr, refundChangesXdr);
    }
  }

  return {
    save(closed, oldest) {
      database.transaction(() => {
        for (const { record, changes } of closed) {
          putEntries(changes.entries());
          putRecord(record);
        }
        forgetAllBut(oldest, closed.at(-1)!.record.sequence);
      });
    },
    returnTo(record, entries) {
      database.transaction(() => {
        putEntries(entries);
        forgetAllBut(0, record.sequence);
        putRecord(record);
      });
    },
  };
}

function detailsOf({ hash, innerHash, successful, soroban, inclusionFee, slices }: TransactionRecord): string {
  return JSON.stringify({ hash, innerHash, successful, soroban, inclusionFee: inclusionFee.toString(), slices });
}

function load(database: SqliteDatabase, { state, history, kept }: Restored): boolean {
  for (const row of database.prepare("SELECT * FROM kept").all()) kept.set(String(row.name), String(row.text));
  const ledgers = database.prepare("SELECT * FROM ledgers ORDER BY sequence").all();
  const transactionsOf = database.prepare("SELECT * FROM transactions WHERE ledger = ? ORDER BY place");
  for (const row of ledgers) {
    history.add({
      sequence: Number(row.sequence),
      closeTime: Number(row.close_time),
      hash: String(row.hash),
      headerXdr: row.header as Uint8Array,
      evictedKeys: (JSON.parse(String(row.evicted)) as string[]).map(bytesOf),
      transactions: transactionsOf.all(row.sequence ?? null).map(recordOf),
    });
  }
  for (const row of database.prepare("SELECT * FROM entries").all()) {
    state.restore(keyOf(row.key as Uint8Array), {
      entryXdr: row.entry as Uint8Array,
      ...(row.live_until !== null && { liveUntilLedger: Number(row.live_until) }),
      ...(row.ttl_modified !== null && { ttlModifiedLedger: Number(row.ttl_modified) }),
    });
  }
  return ledgers.length > 0;
}

function recordOf(row: Record<string, unknown>): TransactionRecord {
  const details = JSON.parse(String(row.details));
  return {
    ...details,
    inclusionFee: BigInt(details.inclusionFee),
    envelopeXdr: row.envelope as Uint8Array,
    resultXdr: row.result as Uint8Array,
    metaXdr: row.meta as Uint8Array,
    feeChangesXdr: row.fee_changes as Uint8Array,
    refundChangesXdr: row.refund_changes as Uint8Array,
  };
}

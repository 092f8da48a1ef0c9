import type { SharedStateChange, SharedStateStore } from "../../../lib/store/shared_state.ts";
import type { NewSubmission, Outcome, SubmissionLog } from "../../../lib/stellar/transactions/submission_log.ts";

export type KeptNote = Pick<NewSubmission, "hash" | "validUntil"> & Partial<NewSubmission> & { outcome?: Outcome };

/** A submissionLog without a store: `notes` by hash, `ledgers` of what the log has events of. */
export function memoryJournal() {
  const notes = new Map<string, KeptNote>();
  const ledgers = new Map<string, number>();
  const submissionLog: SubmissionLog = {
    record(note) {
      const { outcome, ...before } = notes.get(note.hash) ?? note as KeptNote;
      notes.set(note.hash, outcome?.ledger === undefined ? before : { ...before, outcome });
      return Promise.resolve();
    },
    recordSubmitter: () => Promise.resolve(),
    recordOutcome(hash, outcome) {
      const note = notes.get(hash);
      if (note !== undefined && (note.outcome?.ledger === undefined || outcome.ledger !== undefined)) {
        notes.set(hash, { ...note, outcome });
      }
      return Promise.resolve();
    },
    innerOf: (hash) => Promise.resolve(notes.get(hash)?.inner),
    get: (hash) => Promise.resolve(notes.get(hash)),
    ledgerOf: (hash) => Promise.resolve(ledgers.get(hash)),
  };
  return { submissionLog, notes, ledgers };
}

/** Values without a store, that never end. */
export function memorySharedState(now: () => number): Pick<SharedStateStore, "change"> {
  const values = new Map<string, unknown>();
  return {
    change<T, A>(name: string, change: (value: T | undefined, nowMs: number) => SharedStateChange<T, A>) {
      const { value, answer } = change(values.get(name) as T | undefined, now());
      if (value !== undefined) values.set(name, value);
      return Promise.resolve(answer);
    },
  };
}

/** The parts of an escrow without a store: submission log and shared state. */
export function memoryOfEscrow(now = Date.now) {
  const { submissionLog, notes } = memoryJournal();
  return {
    submissionLog,
    notes,
    events: { watcherState: () => Promise.resolve(undefined), read: () => Promise.resolve([]) },
    catchUp: () => Promise.resolve(),
    sharedState: memorySharedState(now),
    keepUnresolved: () => Promise.resolve(),
    unresolved: (source: string) =>
      Promise.resolve(
        [...notes.values()].flatMap((note) =>
          note.source === source && note.outcome === undefined ? [{ hash: note.hash, operation: note.operation! }] : []
        ),
      ),
  };
}

import type { LedgerTip } from "./headers.ts";
import type { LedgerRecord } from "./records.ts";
import type { LedgerState } from "./state.ts";

/** More would be kept for nobody, and each makes an entry that is not there a little slower to look up. */
const MAX_SNAPSHOTS = 100;

/** A ledger that can be gone back to. */
export interface Snapshot {
  readonly name: string;
  readonly tip: LedgerTip;
  /** Kept here: the history may have let go of it. */
  readonly record: LedgerRecord;
  /** By how much the network's clock was ahead then, ms. */
  readonly aheadMs: number;
}

/** Names for marks in the state, in order of time: the n-th snapshot is the n-th mark. */
export function createSnapshots(state: LedgerState) {
  const snapshots: Snapshot[] = [];
  return {
    names: () => snapshots.map(({ name }) => name),
    /**
     * Takes a snapshot; one of the same name is replaced.
     * @throws {RangeError} when there are too many
     */
    take(snapshot: Snapshot) {
      const same = snapshots.findIndex(({ name }) => name === snapshot.name);
      if (same < 0 && snapshots.length === MAX_SNAPSHOTS) {
        throw new RangeError(`there are ${MAX_SNAPSHOTS} snapshots already: take one again under a name there is`);
      }
      if (same >= 0) {
        snapshots.splice(same, 1);
        state.unmark(same);
      }
      snapshots.push(snapshot);
      state.mark();
    },
    /** @throws {RangeError} when there is no such snapshot */
    find(name: string): { snapshot: Snapshot; mark: number } {
      const mark = snapshots.findIndex((snapshot) => snapshot.name === name);
      if (mark >= 0) return { snapshot: snapshots[mark]!, mark };
      const names = snapshots.map(({ name }) => name).join(", ");
      throw new RangeError(`there is no snapshot ${JSON.stringify(name)}: there are ${names || "none"}`);
    },
    /** Goes back to a snapshot, which stays; those taken after it are gone. */
    returnTo(mark: number) {
      snapshots.length = mark + 1;
      state.returnTo(mark);
    },
  };
}

import type { LedgerTip } from "./headers.ts";
import type { LedgerRecord } from "./records.ts";
import type { LedgerState } from "./state.ts";

/** Each snapshot makes the lookup of a missing entry a little slower. */
const MAX_SNAPSHOTS = 100;

/** A saved ledger. */
export interface Snapshot {
  readonly name: string;
  readonly tip: LedgerTip;
  /** A copy, because the history may have dropped it. */
  readonly record: LedgerRecord;
  /** How far the network's clock was ahead, ms. */
  readonly aheadMs: number;
}

/** The names of marks in the state, in order of time. The n-th snapshot is the n-th mark. */
export function createSnapshots(state: LedgerState) {
  const snapshots: Snapshot[] = [];

  /** @throws {RangeError} for an unknown snapshot */
  function find(name: string): { snapshot: Snapshot; mark: number } {
    const mark = snapshots.findIndex((snapshot) => snapshot.name === name);
    if (mark >= 0) return { snapshot: snapshots[mark]!, mark };
    const names = snapshots.map(({ name }) => name).join(", ");
    throw new RangeError(`name must be one of the snapshots ${names || "(none)"}; got ${JSON.stringify(name)}`);
  }

  return {
    all: () => snapshots.map(({ name, tip }) => ({ name, ledger: tip.sequence })),
    /**
     * Takes a snapshot, which replaces one of the same name.
     * @throws {RangeError} for too many snapshots
     */
    take(snapshot: Snapshot) {
      const same = snapshots.findIndex(({ name }) => name === snapshot.name);
      if (same < 0 && snapshots.length === MAX_SNAPSHOTS) {
        throw new RangeError(
          `there can be at most ${MAX_SNAPSHOTS} snapshots: use an existing name, which replaces it`,
        );
      }
      if (same >= 0) {
        snapshots.splice(same, 1);
        state.unmark(same);
      }
      snapshots.push(snapshot);
      state.mark();
    },
    find,
    /** @throws {RangeError} for an unknown snapshot */
    drop(name: string) {
      const { mark } = find(name);
      snapshots.splice(mark, 1);
      state.unmark(mark);
    },
    /** Goes back to a snapshot, which stays. Drops later ones. */
    returnTo(mark: number) {
      snapshots.length = mark + 1;
      state.returnTo(mark);
    },
  };
}

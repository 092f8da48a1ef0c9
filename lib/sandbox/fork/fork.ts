import { lastModifiedLedger, type LedgerState } from "../ledger/state.ts";
import type { Remote } from "./remote.ts";

/** Each round reads the entries that the last one missed. Calls from contract to contract do not nest deeper. */
const MAX_ROUNDS = 200;

export type Fork = ReturnType<typeof createFork>;

/**
 * Reads missing entries from another network, each once: later changes over there have no effect. The engine cannot wait for
 * an entry, so a call runs without it, and again after it is read.
 *
 * A node answers with its latest ledger, so an entry that changed since the fork's ledger comes from another moment.
 * @param onLater called for each such entry (`keyOf`) with the ledger of its change
 */
export function createFork(remote: Remote, onLater: (key: string, ledger: number) => void = () => {}) {
  let unknown: Set<string> | undefined;
  let state: LedgerState | undefined;

  async function read(keys: string[]): Promise<void> {
    const found = await remote.read(keys);
    // A concurrent call may have read the entry, and a ledger may have changed it since.
    for (const key of keys.filter((key) => !state!.isKnown(key))) {
      const entry = found.get(key);
      state!.restore(key, entry);
      const changedIn = entry ? lastModifiedLedger(entry) : 0;
      if (changedIn > remote.ledger.sequence) onLater(key, changedIn);
    }
  }

  function collect<T>(run: () => T): { result: T; keys: string[] } {
    const keys = unknown = new Set<string>();
    try {
      return { result: run(), keys: [...keys] };
    } finally {
      unknown = undefined;
    }
  }

  return {
    remote,
    onUnknown: (key: string) => void unknown?.add(key),
    /** Sets the state that gets the entries. */
    into: (target: LedgerState) => void (state = target),
    /**
     * Repeats `run`, which must change nothing, until no entry is missing. Returns its last result.
     * @throws {RemoteError} when the other network cannot be read
     */
    async complete<T>(run: () => T): Promise<T> {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const { result, keys } = collect(run);
        if (keys.length === 0) return result;
        await read(keys);
      }
      throw new Error(`the call needs more entries of the forked network than ${MAX_ROUNDS} rounds can read`);
    },
  };
}

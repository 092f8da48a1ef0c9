import type { LedgerState } from "../ledger/state.ts";
import type { Remote } from "./remote.ts";

/** Each round reads all that the one before ran into: calls from contract to contract are not nested deeper. */
const MAX_ROUNDS = 200;

export type Fork = ReturnType<typeof createFork>;

/**
 * Reads what a ledger lacks of another network, entry by entry and once: what was read stays as it was then, whatever
 * becomes of it there. The engine cannot wait for an entry, so what needs it is run without it, and again when it is there.
 */
export function createFork(remote: Remote) {
  let unknown: Set<string> | undefined;
  let state: LedgerState | undefined;

  async function read(keys: string[]): Promise<void> {
    const found = await remote.read(keys);
    // Somebody else may have read it meanwhile, and a ledger have changed it.
    for (const key of keys) if (!state!.isKnown(key)) state!.restore(key, found.get(key));
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
    /** The state that entries are read into. */
    into: (target: LedgerState) => void (state = target),
    /**
     * Runs what changes nothing until it finds all that it asks for, and answers its last result.
     * @throws {RemoteError} when the other network cannot be read
     */
    async complete<T>(run: () => T): Promise<T> {
      for (let round = 0; round < MAX_ROUNDS; round++) {
        const { result, keys } = collect(run);
        if (keys.length === 0) return result;
        await read(keys);
      }
      throw new Error(`it needs more of the other network than can be read in ${MAX_ROUNDS} rounds`);
    },
  };
}

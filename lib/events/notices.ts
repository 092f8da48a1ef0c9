import type { EventSlice, WatcherState } from "../store/store.ts";

/** Something an operator should know once: told after the commit that made it so. */
export interface Notice {
  kind: "gap" | "reset" | "contracts_changed" | "undecoded" | "decoded";
  message: string;
}

/** What an operator should know of a commit. `before`: what was committed until then, undefined at the first start. */
export function noticesOf({ events, state, gaps }: EventSlice, before: WatcherState | undefined): Notice[] {
  const notices: Notice[] = [];
  if (before !== undefined && before.epoch !== state.epoch) {
    const message = `the network was reset: ledger ${before.latestLedger} had been seen, now it shows ledger ` +
      `${state.latestLedger}, closed later; epoch ${state.epoch} begins`;
    notices.push({ kind: "reset", message });
  } else if (before !== undefined && before.contractIds !== state.contractIds) {
    const message = `other contracts are watched now (${state.contractIds}, before ${before.contractIds}); ` +
      `events of new ones are held as far back as the RPC node held them`;
    notices.push({ kind: "contracts_changed", message });
  }
  for (const { fromLedger, toLedger } of gaps ?? []) {
    const message = `events of ledgers ${fromLedger} to ${toLedger} are missing: the RPC node no longer held them`;
    notices.push({ kind: "gap", message });
  }
  const undecoded = events.filter(({ type }) => type === null);
  if (undecoded.length > 0) {
    const { id, contractId } = undecoded[0]!;
    const message =
      `${undecoded.length} events could not be decoded and are kept raw, the first is ${id} of ${contractId}`;
    notices.push({ kind: "undecoded", message });
  }
  return notices;
}

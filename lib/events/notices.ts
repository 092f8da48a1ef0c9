import type { EventSlice, WatcherState } from "../store/store.ts";

/** Something an operator should know once: told after the commit that made it so. */
export interface Notice {
  kind: "gap" | "reset" | "contracts_changed" | "undecoded" | "decoded";
  message: string;
}

/**
 * What an operator should know of a commit. `before`: what was committed until then, undefined at the first start;
 * `titleOf`: what people call the contract with this id.
 */
export function noticesOf(
  { events, state, gaps }: EventSlice,
  before: WatcherState | undefined,
  titleOf: (contractId: string) => string,
): Notice[] {
  const notices: Notice[] = [];
  if (before !== undefined && before.epoch !== state.epoch) {
    const message = `the network was reset: ledger ${before.latestLedger} had been seen, now it shows ledger ` +
      `${state.latestLedger}, closed later; epoch ${state.epoch} begins`;
    notices.push({ kind: "reset", message });
  } else if (before !== undefined && before.contractIds !== state.contractIds) {
    notices.push({ kind: "contracts_changed", message: changeOfContracts(state, before, titleOf) });
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

function changeOfContracts(now: WatcherState, before: WatcherState, titleOf: (contractId: string) => string): string {
  const [held, had] = [now.contractIds.split(","), before.contractIds.split(",")];
  const added = held.filter((id) => !had.includes(id));
  const removed = had.filter((id) => !held.includes(id));
  return [
    "other contracts are watched now",
    ...added.map((id) => `${titleOf(id)} is ${id}`),
    ...(removed.length === 0
      ? []
      : [`${removed.join(" and ")} ${removed.length === 1 ? "is" : "are"} watched no more`]),
    ...(added.length === 0 ? [] : ["events of a new one are held as far back as the RPC node held them"]),
  ].join("; ");
}

import { GatewayError } from "../errors.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import type { NewEvent, UndecodedEvent } from "../store/event.ts";
import { type HistoryGap, StoreError, type WatcherState } from "../store/store.ts";
import { gapsToFill, isBeginning, watchedContracts } from "./coverage.ts";

/** Something an operator should know once: told after the commit that made it so. */
export interface Notice {
  kind:
    | "gap"
    | "reset"
    | "contracts_changed"
    | "undecoded"
    | "decoded"
    | "repaired"
    | "clock_disagrees"
    | "asset_unknown";
  message: string;
  /** How many events it is about, with `repaired` and `asset_unknown`. */
  events?: number;
}

/** A state of the watcher: told when it changes, not at each poll. */
export interface Trouble {
  kind: "node_failed" | "node_lagging" | "store_failed" | "internal" | "recovered";
  message: string;
  cause?: unknown;
}

/** What an operator should know of a change of state. `titleOf`: what people call the contract with this id. */
export function noticesOfState(
  state: WatcherState,
  before: WatcherState,
  titleOf: (contractId: string) => string,
): Notice[] {
  const notices: Notice[] = [];
  if (before.epoch !== state.epoch) {
    const message = `the network was reset: ledgers that were read up to ${before.scannedLedger} are gone or others ` +
      `now; epoch ${state.epoch} begins`;
    notices.push({ kind: "reset", message });
  }
  if (watchedContracts(before).join() !== watchedContracts(state).join()) {
    notices.push({ kind: "contracts_changed", message: changeOfContracts(state, before, titleOf) });
    return notices;
  }
  for (const gap of state.gaps) {
    if (before.gaps.some((known) => isPartOf(gap, known))) continue;
    const { fromLedger, toLedger, reason } = gap;
    const why = reason === "reset"
      ? "the network was reset before they were scanned twice"
      : "no RPC node holds them any more";
    const message = `events of ledgers ${fromLedger} to ${toLedger} ${
      reason === "reset" ? "may be" : "are"
    } missing: ${why}`;
    notices.push({ kind: "gap", message });
  }
  return notices;
}

/** Whether one gap lies within another: what is being filled grows smaller, and is nothing new. */
export function isPartOf(gap: HistoryGap, whole: HistoryGap): boolean {
  return whole.epoch === gap.epoch && whole.fromLedger <= gap.fromLedger && gap.toLedger <= whole.toLedger;
}

/** What an operator should know of gaps that were read: undefined when nothing was found, and none of them is filled. */
export function noticeOfFilled(events: number, state: WatcherState, before: WatcherState): Notice | undefined {
  const gaps = gapsToFill(state);
  // Of the beginning of a new contract nobody was told that it is missing.
  const isFilled = gapsToFill(before).some((gap) =>
    !isBeginning(gap, before) &&
    !gaps.some((left) => left.contractIds.join() === gap.contractIds.join() && isPartOf(left, gap))
  );
  if (events === 0 && !isFilled) return undefined;
  const found = events === 0 ? "what was missing was read, and holds no events" : `${events} events of gaps were found`;
  return { kind: "repaired", events, message: `${found}; gaps that are left: ${gaps.length}` };
}

/** What an operator should know of events that were committed: undefined when all could be decoded. */
export function noticeOfUndecoded(events: readonly (NewEvent | UndecodedEvent)[]): Notice | undefined {
  const undecoded = events.filter(({ type }) => type === null);
  if (undecoded.length === 0) return undefined;
  const { id, contractId } = undecoded[0]!;
  return {
    kind: "undecoded",
    message: `${undecoded.length} events could not be decoded and are kept raw, the first is ${id} of ${contractId}`,
  };
}

function changeOfContracts(now: WatcherState, before: WatcherState, titleOf: (contractId: string) => string): string {
  const [held, had] = [watchedContracts(now), watchedContracts(before)];
  const added = held.filter((id) => !had.includes(id));
  const removed = had.filter((id) => !held.includes(id));
  return [
    "other contracts are watched now",
    ...added.map((id) => `${titleOf(id)} is ${id}`),
    ...(removed.length === 0
      ? []
      : [`${removed.join(" and ")} ${removed.length === 1 ? "is" : "are"} watched no more`]),
    ...(added.length === 0 ? [] : ["earlier events of a new one are read as far back as an RPC node holds them"]),
  ].join("; ");
}

/** What a poll that failed with this is told as. */
export function troubleOf(cause: unknown): Trouble {
  const message = cause instanceof Error ? cause.message : String(cause);
  const fromNode = cause instanceof RpcError || (cause instanceof GatewayError && cause.code === "upstream_error");
  // What a store says of itself is all there is to know.
  if (cause instanceof StoreError) return { kind: "store_failed", message };
  if (!fromNode) return { kind: "internal", message, cause };
  // The node's own words, which may speak of a database that is not ours.
  if (cause instanceof RpcError) {
    return { kind: "node_failed", message: `the RPC node answers ${cause.method} with an error: ${message}` };
  }
  // Foreseen: the message says what it is, only what lies under it is new.
  return { kind: "node_failed", message, cause: cause.cause };
}

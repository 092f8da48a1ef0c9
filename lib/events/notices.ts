import { GatewayError } from "../errors.ts";
import { RpcError } from "../stellar/rpc/json_rpc.ts";
import type { NewEvent, UndecodedEvent } from "../store/event.ts";
import { type HistoryGap, StoreError, type WatcherState } from "../store/store.ts";
import { gapsToFill, isBeginning, watchedContracts } from "./coverage.ts";

/** A notice for the operator, sent once, after the commit that caused it. */
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
  /** The number of events, for `repaired` and `asset_unknown`. */
  events?: number;
}

/** A state of the watcher, reported when it changes. */
export interface Trouble {
  kind: "node_failed" | "node_lagging" | "store_failed" | "internal" | "recovered";
  message: string;
  cause?: unknown;
}

/** The notices of a change of state. `before`: undefined at the first commit. `titleOf`: the name of a contract. */
export function noticesOfState(
  state: WatcherState,
  before: WatcherState | undefined,
  titleOf: (contractId: string) => string,
): Notice[] {
  if (before === undefined) return state.gaps.map(noticeOfGap);
  const notices: Notice[] = [];
  if (before.epoch !== state.epoch) {
    const message = `the network was reset: ledgers up to ${before.scannedLedger} are gone or have changed; ` +
      `epoch ${state.epoch} begins`;
    notices.push({ kind: "reset", message });
  }
  if (watchedContracts(before).join() !== watchedContracts(state).join()) {
    notices.push({ kind: "contracts_changed", message: changeOfContracts(state, before, titleOf) });
    return notices;
  }
  for (const gap of state.gaps) {
    if (before.gaps.some((known) => isPartOf(gap, known))) continue;
    notices.push(noticeOfGap(gap));
  }
  return notices;
}

function noticeOfGap({ fromLedger, toLedger, reason }: HistoryGap): Notice {
  const ledgers = `ledgers ${fromLedger} to ${toLedger}`;
  if (reason === "start") {
    const message =
      `the history begins with the newest ledgers; the watcher reads ${ledgers} behind them, the newest first`;
    return { kind: "gap", message };
  }
  const why = reason === "reset" ? "the network was reset before the rescan" : "no RPC node holds them any more";
  return { kind: "gap", message: `events of ${ledgers} ${reason === "reset" ? "may be" : "are"} missing: ${why}` };
}

/** Whether one gap lies within another. A gap that shrinks while it is filled is not new. */
export function isPartOf(gap: HistoryGap, whole: HistoryGap): boolean {
  return whole.epoch === gap.epoch && whole.fromLedger <= gap.fromLedger && gap.toLedger <= whole.toLedger;
}

/** The notice of a backfill; undefined when it found no events and filled no gap. */
export function noticeOfFilled(events: number, state: WatcherState, before: WatcherState): Notice | undefined {
  const gaps = gapsToFill(state);
  // The beginning of a new contract was never reported as missing.
  const isFilled = gapsToFill(before).some((gap) =>
    !isBeginning(gap, before) &&
    !gaps.some((left) => left.contractIds.join() === gap.contractIds.join() && isPartOf(left, gap))
  );
  if (events === 0 && !isFilled) return undefined;
  const found = events === 0 ? "gaps were filled, and held no events" : `${events} events of gaps were found`;
  return { kind: "repaired", events, message: `${found}; gaps left: ${gaps.length}` };
}

/** The notice of committed raw events; undefined when all were decoded. */
export function noticeOfUndecoded(events: readonly (NewEvent | UndecodedEvent)[]): Notice | undefined {
  const undecoded = events.filter(({ type }) => type === null);
  if (undecoded.length === 0) return undefined;
  const { id, contractId } = undecoded[0]!;
  return {
    kind: "undecoded",
    message: `${undecoded.length} events could not be decoded and are stored raw; the first is ${id} of ${contractId}`,
  };
}

function changeOfContracts(now: WatcherState, before: WatcherState, titleOf: (contractId: string) => string): string {
  const [held, had] = [watchedContracts(now), watchedContracts(before)];
  const added = held.filter((id) => !had.includes(id));
  const removed = had.filter((id) => !held.includes(id));
  return [
    "the watched contracts have changed",
    ...added.map((id) => `${titleOf(id)} is ${id}`),
    ...(removed.length === 0
      ? []
      : [`${removed.join(" and ")} ${removed.length === 1 ? "is" : "are"} no longer watched`]),
    ...(added.length === 0
      ? []
      : ["the watcher reads earlier events of a new one as far back as an RPC node holds them"]),
  ].join("; ");
}

/** The report of a failed poll. */
export function troubleOf(cause: unknown): Trouble {
  const message = cause instanceof Error ? cause.message : String(cause);
  const fromNode = cause instanceof RpcError || (cause instanceof GatewayError && cause.code === "upstream_error");
  // A store's message is complete.
  if (cause instanceof StoreError) return { kind: "store_failed", message };
  if (!fromNode) return { kind: "internal", message, cause };
  // The node's text may mention a database, which is not ours.
  if (cause instanceof RpcError) {
    return { kind: "node_failed", message: `the RPC node answers ${cause.method} with an error: ${message}` };
  }
  // An expected error: the message explains it, and only its cause is new.
  return { kind: "node_failed", message, cause: cause.cause };
}

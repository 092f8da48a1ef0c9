import { setImmediate as othersTurn } from "node:timers/promises";
import { GatewayError } from "../errors.ts";
import type { RpcClient } from "../stellar/rpc/rpc.ts";
import type { LedgerTip } from "../stellar/ledger/tip.ts";
import type { EventSlice, Store, StoredEvent, WatcherState } from "../store/store.ts";
import { type Notice, noticesOf } from "./notices.ts";
import { type Decode, decodeStoredEvent, toStoredEvent } from "./page.ts";
import { createScan, type Look } from "./scan.ts";
import { atCommitted, endOfPage, isCommitted, midPage } from "./stand.ts";

export interface TurnResult {
  /**
   * `at_tip`: all the node has is committed; `behind`: there is more, the turn was long enough; `lagging`: the node shows
   * less than was seen already; `failed`: reported, to be tried again; `stopped`: the watcher was told to stop.
   */
  outcome: "at_tip" | "behind" | "lagging" | "failed" | "stopped";
  /** How many events were committed; some of them may have been held already. */
  events: number;
  /** Why the node is not believed, with `lagging`. */
  reason?: string;
}

export interface TurnParts {
  rpc: RpcClient;
  store: Store;
  tip: LedgerTip;
  contractIds: readonly string[];
  decode: Decode;
  /** What people call the contract with this id; "a new one" when absent. */
  titleOf?: (contractId: string) => string;
  /** Unix milliseconds. */
  now: () => number;
  onNotice: (notice: Notice) => void;
  /** Called after each commit that holds decoded events. Must not throw. */
  onEvents?: (events: StoredEvent[]) => void;
  /** Called after each commit: ledgers may count as scanned now without an event in it. Must not throw. */
  onCommit?: () => void;
  /** How many events the node is asked for at a time; 1 000 when absent. */
  pageEvents?: number;
  /** How many events are committed at a time, at most 100; 100 when absent. */
  sliceEvents?: number;
}

/** The most undecoded events at a time (`Store`). */
const UNDECODED_EVENTS = 100;
const PAGES_PER_TURN = 20;
const UNDECODED_PAGES_PER_TURN = 10;

/**
 * One bounded turn of the watcher: from where the last commit ended towards the node's newest ledger. It keeps nothing
 * between turns that the store does not hold, so a turn that fails is made good by the next. Rejects with what the node
 * or the store rejected with.
 */
export function createTurn(parts: TurnParts): (signal: AbortSignal) => Promise<TurnResult> {
  const { store, tip, decode, titleOf = () => "a new one", onNotice, onEvents, onCommit, sliceEvents = 100 } = parts;
  const scan = createScan(parts);
  /** Up to where undecoded events were tried again since the start; null when all have been. */
  let retriedUpTo: string | undefined | null;

  /** The commits a page is made of. Decodes as it goes, so that no step holds the event loop for a whole page. */
  function* slicesOf({ stand, page, newest }: Look & { kind: "page" }): Generator<EventSlice> {
    for (let from = 0; from === 0 || from < page.events.length; from += sliceEvents) {
      const events = page.events.slice(from, from + sliceEvents)
        .map((event) => toStoredEvent(event, stand.state.epoch, decode));
      const isLast = from + sliceEvents >= page.events.length;
      const state = isLast ? endOfPage(stand.state, newest, page) : midPage(stand.state, newest, events.at(-1)!);
      yield from === 0 && stand.gaps.length > 0 ? { events, state, gaps: stand.gaps } : { events, state };
    }
  }

  async function commit(slice: EventSlice, committed: WatcherState | undefined): Promise<void> {
    if (committed !== undefined && isCommitted(committed, slice)) return;
    await store.commitEvents(slice);
    for (const notice of noticesOf(slice, committed, titleOf)) onNotice(notice);
    const shown = slice.events.filter(({ type }) => type !== null);
    if (shown.length > 0) onEvents?.(shown);
    onCommit?.();
    await othersTurn();
  }

  /** After an upgrade the program may know more events than the one that kept them raw. */
  async function decodeAgain(signal: AbortSignal): Promise<void> {
    for (let pages = 0; retriedUpTo !== null && pages < UNDECODED_PAGES_PER_TURN && !signal.aborted; pages++) {
      const undecoded = await store.undecodedEvents({ after: retriedUpTo, limit: UNDECODED_EVENTS });
      const decoded = undecoded.flatMap((event) => decodeStoredEvent(event, decode) ?? []);
      if (decoded.length > 0) {
        await store.decodeEvents(decoded);
        onCommit?.();
        onNotice({ kind: "decoded", message: `${decoded.length} events that were kept raw could be decoded now` });
      }
      retriedUpTo = undecoded.at(-1)?.position ?? null;
      await othersTurn();
    }
  }

  return async (signal) => {
    await decodeAgain(signal);
    let committed = await store.watcherState();
    let events = 0;
    let stand = await scan.begin(committed, signal);
    for (let pages = 0; pages < PAGES_PER_TURN; pages++) {
      const look = await scan.next(stand, signal);
      if (look.kind === "lagging") return { outcome: "lagging", events, reason: look.reason };
      tip.observe(look.newest.sequence, look.newest.closeTime || undefined);
      let state = look.stand.state;
      const askedFrom = state.rpcCursor;
      for (const slice of slicesOf(look)) {
        if (signal.aborted) return { outcome: "stopped", events };
        await commit(slice, committed);
        events += slice.events.length;
        committed = state = slice.state;
      }
      if (state.scannedLedger >= look.nodeLedger) return { outcome: "at_tip", events };
      if (state.rpcCursor === askedFrom) {
        throw new GatewayError("upstream_error", `the RPC node's event cursor ${askedFrom} does not move on`);
      }
      stand = atCommitted(state);
    }
    return { outcome: "behind", events };
  };
}

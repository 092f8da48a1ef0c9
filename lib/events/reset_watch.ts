/*
 * Decides when to compare the network with the stored checkpoints, and whether the log may go on. `stellar/reset.ts`
 * compares; `watcher.ts` begins the new epoch.
 */

import type { Clock } from "../clock.ts";
import type { Checkpoint } from "../ledger_numbers.ts";
import type { Head } from "../stellar/head.ts";
import { createResetCheck, type KnownLedgers, type NewEpoch } from "../stellar/reset.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { formatEventId, heightOf, parseEventId } from "../store/event.ts";
import type { Store, WatcherState } from "../store/store.ts";
import { createReader } from "./reading.ts";

/** Compares the network with the stored checkpoints. */
export interface ResetWatch {
  /** Compares if due. `standsBecause`: the log stops until the next poll. `begins`: a new epoch starts. */
  check(
    state: WatcherState | undefined,
    signal: AbortSignal,
  ): Promise<{ standsBecause?: string; begins?: NewEpoch }>;
  /** Reads a checkpoint: the first one of the first ledger to scan, later ones of the newest scanned ledger. */
  checkpoint(state: WatcherState, signal: AbortSignal): Promise<Checkpoint | undefined>;
  /** The newest checkpoint that was equal in the last comparison; undefined for none. */
  readonly sameUpTo: number | undefined;
  /** Makes a comparison due. */
  again(): void;
  /** Whether a comparison that began after this time (monotonic ms) ruled out a reset. */
  isRuledOutSince(atMs: number): boolean;
}

const EVERY_MS = 600_000;
/** After this long without a poll the network may have been reset. */
const PAUSE_MS = 30_000;
const ODD_EVERY_MS = 2_000;

export function createResetWatch({ rpc, store, head, clock, onDue }: {
  rpc: NodesRpcClient;
  store: Pick<Store, "events">;
  head: Head;
  clock: Clock;
  /** Called when a comparison is due at once. */
  onDue(): void;
}): ResetWatch {
  const { monotonicMs } = clock;
  const resets = createResetCheck({ rpc, clock });
  const read = createReader(rpc, 100);
  let isDue = true;
  /** The node to compare with: the odd one, or the one after a lagging one. Absent: one that is well. */
  let askedNode: number | undefined;
  /** `ruledOutMs`: when the last comparison that ruled out a reset began. */
  const at = { polledMs: monotonicMs(), checkedMs: -Infinity, ruledOutMs: -Infinity };
  let checking: ReturnType<ResetWatch["check"]> | undefined;
  let sameUpTo: number | undefined;

  head.onOdd((node) => {
    askedNode = node;
    if (monotonicMs() - at.checkedMs < ODD_EVERY_MS) return;
    isDue = true;
    onDue();
  });
  head.onChange((sequence, before) => {
    if (sequence < before) isDue = true;
  });

  function known(state: WatcherState, signal: AbortSignal): KnownLedgers {
    return {
      checkpoints: state.checkpoints,
      formerCheckpoints: state.formerCheckpoints,
      async isEventThere({ oldest, latest }, node) {
        const { epoch } = state;
        const toLedger = Math.min(latest, state.settledLedger);
        const filter = { fromHeight: heightOf(epoch, oldest), toHeight: heightOf(epoch, toLedger) };
        const [event] = toLedger < oldest ? [] : await store.events.read({ filter, order: "desc", limit: 1 });
        if (event === undefined) return undefined;
        const rpcId = formatEventId({ ...parseEventId(event.id)!, epoch: 0 });
        const place = { startLedger: event.ledger };
        const reading = await read({ place, contractIds: [event.contractId], node, signal });
        if (reading.kind !== "page") return undefined;
        // An event of another transaction at the same place is another event.
        return reading.page.events.some(({ id, txHash }) => id === rpcId && txHash.toLowerCase() === event.txHash);
      },
    };
  }

  async function compare(state: WatcherState, signal: AbortSignal): ReturnType<ResetWatch["check"]> {
    const atMs = at.checkedMs = monotonicMs();
    const finding = await resets.compare(known(state, signal), signal, askedNode);
    if (finding.kind === "same" || finding.kind === "nothing") {
      at.ruledOutMs = atMs;
      sameUpTo = finding.kind === "same" ? finding.checkpoint?.ledger : undefined;
      head.ruledOutReset(atMs, finding.node);
      isDue = false;
      askedNode = undefined;
      return {};
    }
    askedNode = finding.node;
    if (finding.kind !== "other") {
      askedNode = ((finding.node ?? 0) + 1) % rpc.nodes().length;
      return { standsBecause: "the RPC node shows the network from before its reset, or lags" };
    }
    const begins = finding.begins;
    return begins === undefined ? { standsBecause: "the network seems to have been reset" } : { begins };
  }

  return {
    async check(state, signal) {
      const nowMs = monotonicMs();
      if (nowMs - at.polledMs > PAUSE_MS || nowMs - at.checkedMs > EVERY_MS) isDue = true;
      at.polledMs = nowMs;
      if (!isDue) return {};
      if (state === undefined) {
        at.checkedMs = nowMs;
        head.ruledOutReset(nowMs);
        return {};
      }
      return await (checking ??= compare(state, signal).finally(() => checking = undefined));
    },

    async checkpoint({ checkpoints, contracts, scannedLedger }, signal) {
      const last = checkpoints.at(-1)?.ledger;
      const first = Math.min(...Object.values(contracts).map(({ fromLedger }) => fromLedger));
      if (last !== undefined && scannedLedger <= last) return undefined;
      // The head may have fallen below the first ledger.
      const isFirst = last === undefined && scannedLedger >= first - 1;
      return await resets.checkpoint(isFirst ? first : scannedLedger, signal).catch(() => undefined);
    },

    get sameUpTo() {
      return sameUpTo;
    },

    again() {
      isDue = true;
    },

    isRuledOutSince: (atMs) => at.ruledOutMs > atMs,
  };
}

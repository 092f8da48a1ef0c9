import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";
import { createResetCheck, type KnownLedgers, type NewEpoch } from "../stellar/reset.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { formatEventId, heightOf, parseEventId } from "../store/event.ts";
import type { Checkpoint, Store, WatcherState } from "../store/store.ts";
import { withoutAbove } from "./coverage.ts";
import { createReader } from "./reading.ts";

/** When the watcher compares the network with its checkpoints, and what follows for the log. */
export interface ResetWatch {
  /** Compares when it is due. `standsBecause`: the log stands until the next poll. `begins`: a new epoch does. */
  check(
    state: WatcherState | undefined,
    signal: AbortSignal,
  ): Promise<{ standsBecause?: string; begins?: NewEpoch }>;
  /** The state after the sandbox took its network back; undefined: it did not. */
  reverted(state: WatcherState, signal: AbortSignal): Promise<WatcherState | undefined>;
  /** A checkpoint: of the first scanned ledger, or where that has one of the newest. */
  checkpoint(state: WatcherState, signal: AbortSignal): Promise<Checkpoint | undefined>;
  /** The newest checkpoint that was the same in the last comparison; undefined: nothing was. */
  readonly sameUpTo: number | undefined;
  /** A comparison is due: a poll failed. */
  again(): void;
  /** Whether a comparison that began since then (monotonic ms) ruled a reset out. */
  isRuledOutSince(atMs: number): boolean;
}

const EVERY_MS = 600_000;
/** After so long without a poll nobody has seen what happened. */
const PAUSE_MS = 30_000;
const ODD_EVERY_MS = 2_000;

export function createResetWatch({ rpc, store, head, clock, onDue }: {
  rpc: NodesRpcClient;
  store: Pick<Store, "events" | "subscriptions">;
  head: Head;
  clock: Clock;
  /** Called when a comparison is due at once. */
  onDue(): void;
}): ResetWatch {
  const { monotonicMs } = clock;
  const resets = createResetCheck({ rpc, clock });
  const read = createReader(rpc, 100);
  let isDue = true;
  let polledAtMs = monotonicMs();
  let checkedAtMs = -Infinity;
  /** When the last comparison began that ruled a reset out. */
  let ruledOutAtMs = -Infinity;
  let reverts = clock.networkReverts?.() ?? 0;
  let checking: ReturnType<ResetWatch["check"]> | undefined;
  let before = head.sequence;
  let hearFrom: number | undefined;
  let sameUpTo: number | undefined;

  head.onOdd(() => {
    if (isDue || monotonicMs() - checkedAtMs < ODD_EVERY_MS) return;
    isDue = true;
    onDue();
  });
  head.onChange((sequence) => {
    if (sequence < before) isDue = true;
    before = sequence;
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
        // Of another transaction it is another event, which happens to be at its place.
        return reading.page.events.some(({ id, txHash }) => id === rpcId && txHash.toLowerCase() === event.txHash);
      },
    };
  }

  async function compare(state: WatcherState, signal: AbortSignal): ReturnType<ResetWatch["check"]> {
    const atMs = checkedAtMs = monotonicMs();
    const finding = await resets.compare(known(state, signal), signal);
    if (finding.kind === "same" || finding.kind === "nothing") {
      ruledOutAtMs = atMs;
      sameUpTo = finding.kind === "same" ? finding.checkpoint?.ledger : undefined;
      head.ruledOutReset(atMs);
      // An odd answer may have come meanwhile.
      isDue = false;
      return {};
    }
    if (finding.kind !== "other") {
      return { standsBecause: "the RPC node shows the network as it was before it was reset" };
    }
    const begins = finding.begins;
    return begins === undefined ? { standsBecause: "the network looks as if it had been reset" } : { begins };
  }

  return {
    async check(state, signal) {
      const nowMs = monotonicMs();
      if (nowMs - polledAtMs > PAUSE_MS || nowMs - checkedAtMs > EVERY_MS) isDue = true;
      polledAtMs = nowMs;
      if (!isDue) return {};
      if (state === undefined) {
        head.ruledOutReset(nowMs);
        return {};
      }
      return await (checking ??= compare(state, signal).finally(() => checking = undefined));
    },

    async reverted(state, signal) {
      if (hearFrom !== undefined) await store.subscriptions.hearFrom(hearFrom);
      hearFrom = undefined;
      const now = clock.networkReverts?.() ?? 0;
      if (now === reverts) return undefined;
      const { closeTime } = await rpc.getLatestLedger({ signal });
      const { latestLedger } = await rpc.getHealth({ signal });
      const last = await lastSame(state.checkpoints, latestLedger, signal);
      head.restart({ sequence: latestLedger, closeTime });
      reverts = now;
      // First: what is read anew then is of ledgers that a webhook made since would take for old. And once more, for those
      // that were made before it was committed.
      const first = Math.min(...Object.values(state.contracts).map(({ fromLedger }) => fromLedger));
      const ledger = Math.min(state.scannedLedger, Math.max(last, first - 1));
      hearFrom = heightOf(state.epoch, ledger + 1);
      await store.subscriptions.hearFrom(hearFrom);
      return withoutAbove(state, ledger);
    },

    async checkpoint(state, signal) {
      // The first ledger of all tells a network that was taken back from another one.
      const first = Math.min(...Object.values(state.contracts).map(({ fromLedger }) => fromLedger));
      const ledger = state.checkpoints.length === 0 ? first : state.scannedLedger;
      if (ledger === state.checkpoints.at(-1)?.ledger || ledger <= 0) return undefined;
      return await resets.checkpoint(ledger, signal).catch(() => undefined);
    },

    get sameUpTo() {
      return sameUpTo;
    },

    again() {
      isDue = true;
    },

    isRuledOutSince: (atMs) => ruledOutAtMs > atMs,
  };

  /** The newest ledger that is known to be still there. */
  async function lastSame(checkpoints: readonly Checkpoint[], latest: number, signal: AbortSignal): Promise<number> {
    for (const { ledger, hash } of checkpoints.toReversed()) {
      if (ledger > latest) continue;
      const found = await resets.checkpoint(ledger, signal).catch(() => undefined);
      if (found !== undefined && found.hash === hash) return ledger;
    }
    return 0;
  }
}

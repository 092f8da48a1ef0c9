import type { Clock } from "../../clock.ts";
import { GatewayError } from "../../errors.ts";
import { heightOf } from "../../store/event.ts";
import type { Store, WatcherState } from "../../store/store.ts";
import { paymentsHoldTo } from "../payments/projection.ts";
import { createLogBalances, type LogBalances } from "./log_balances.ts";

export interface FollowedLogParts {
  store: Pick<Store, "events" | "payments">;
  paymentEscrow: string;
  /** Makes the watcher poll now. Never rejects. Absent: another process watches. */
  catchUp?(): Promise<unknown>;
  clock: Pick<Clock, "monotonicMs" | "wait">;
  /** Ends all waiting. */
  signal?: AbortSignal;
}

/** The log of one epoch, which follows the answers of a node. */
export interface FollowedLog {
  epoch: number;
  fromLedger: number;
  /** The ledger of the newest answer. */
  readonly toLedger: number;
  balances: LogBalances;
  /**
   * Returns the answer of a node once log, payments and balances hold up to its ledger. Asks again while the node lags.
   * @throws {GatewayError} `unavailable` when the log does not follow, `upstream_error` when the node lags
   */
  answered<T extends { ledger: number }>(ask: () => Promise<T>): Promise<T>;
  /** Waits until no event up to `toLedger` can come late. Returns false when that takes too long. */
  settled(): Promise<boolean>;
  /** Whether it has all events of the contract, which was last changed in this ledger. */
  isComplete(changedAt: number | undefined): Promise<boolean>;
}

/** Longer than the longest time between two polls. */
const LONGEST_WAIT_MS = 75_000;
/** Longer than the watcher waits before it scans a ledger again. */
const LONGEST_SETTLING_MS = 180_000;
const LONGEST_LAG_MS = 10_000;
const PAUSE_MS = 250;

/** @throws {GatewayError} `unavailable` before the watcher's first commit */
export async function followLog(
  { store, paymentEscrow, catchUp, clock, signal }: FollowedLogParts,
): Promise<FollowedLog> {
  const { events } = store;
  const begun = await events.watcherState();
  if (begun === undefined) throw notRead("the store has no history yet");
  const { epoch } = begun;
  const balances = createLogBalances({ log: events, paymentEscrow, epoch, signal });
  let toLedger = begun.scannedLedger;
  await balances.advance(toLedger);

  async function waitFor(isReached: (state: WatcherState) => boolean | Promise<boolean>, longestMs: number) {
    for (const endsAtMs = clock.monotonicMs() + longestMs;;) {
      const state = await events.watcherState();
      if (state?.epoch !== epoch) throw notRead("the network was reset meanwhile");
      if (await isReached(state)) return true;
      if (clock.monotonicMs() >= endsAtMs || signal?.aborted) return false;
      await catchUp?.();
      await clock.wait(PAUSE_MS, signal);
    }
  }

  return {
    epoch,
    fromLedger: begun.contracts[paymentEscrow]?.fromLedger ?? 0,
    get toLedger() {
      return toLedger;
    },
    balances,
    async answered(ask) {
      const endsAtMs = clock.monotonicMs() + LONGEST_LAG_MS;
      let answer = await ask();
      while (answer.ledger < toLedger) {
        if (clock.monotonicMs() >= endsAtMs || signal?.aborted) {
          throw new GatewayError(
            "upstream_error",
            `the RPC node shows ledger ${answer.ledger}, and the log ${toLedger}`,
          );
        }
        await clock.wait(PAUSE_MS, signal);
        answer = await ask();
      }
      if (signal?.aborted) throw notRead("the time is up");
      const { ledger } = answer;
      const isThere = await waitFor(
        async ({ scannedLedger }) => scannedLedger >= ledger && await paymentsHoldTo(store) >= ledger,
        LONGEST_WAIT_MS,
      );
      if (!isThere) throw notRead(`the log does not reach ledger ${ledger}, which the RPC node shows`);
      await balances.advance(ledger);
      toLedger = ledger;
      return answer;
    },
    settled() {
      const upTo = toLedger;
      return waitFor(({ settledLedger }) => settledLedger >= upTo, LONGEST_SETTLING_MS);
    },
    async isComplete(changedAt = 0) {
      const { contracts, gaps } = (await events.watcherState())!;
      const isGap = gaps.some((gap) => gap.epoch === epoch && gap.contractIds.includes(paymentEscrow));
      const { forgotten } = await events.bounds();
      const isCut = forgotten > 0 && await events.before(heightOf(epoch, 0)) < forgotten;
      return !isGap && !isCut && changedAt >= (contracts[paymentEscrow]?.fromLedger ?? Infinity);
    },
  };
}

function notRead(what: string): GatewayError {
  return new GatewayError("unavailable", `${what}; retry while a gateway on this store reads the network`);
}

import { type Clock, isoSeconds, isoTime, type Wait } from "../clock.ts";
import type { ReconciliationSummary } from "../escrow/books/last_reconciliation.ts";
import type { EVENT_TYPES } from "../escrow/events.ts";
import type { PaymentsCondition } from "../escrow/payments/payments_condition.ts";
import type { History, HistoryStatus } from "../events/history.ts";
import type { GatewayStatus } from "../http/status_response.ts";
import { VERSION } from "../version.ts";
import type { Backlog } from "../webhooks/backlog.ts";
import type { Chain } from "./chain.ts";
import type { Condition } from "./gateway_metrics.ts";
import { reconciliationTrouble } from "./reconciliations.ts";

export interface StatusParts {
  chain: Chain;
  history: History;
  backlog(): Promise<Backlog>;
  clock: Pick<Clock, "now" | "monotonicMs" | "wait">;
  troubles(): string[];
  /** The last reconciliation. Rejects when the store fails. */
  reconciliation(): Promise<ReconciliationSummary | undefined>;
  /** Ends background work. */
  stopping: AbortSignal;
}

type OfStore = Pick<Condition, "history" | "backlog" | "solvency" | "payments" | "reconciliation">;

/** Twice the longest time between two polls: `SERVICE_API_POLL_MS` is at most a minute, and so is the crons' pause. */
const BEHIND_SECONDS = 120;
/** A gateway that polls sees a head at least so often while a node answers. */
const LATELY_MS = 60_000;

/** Reads the condition of the gateway, for operators and dashboards. */
export function createStatus(parts: StatusParts) {
  const { chain, history, backlog, clock, troubles, reconciliation, stopping } = parts;
  const { rpc, head, escrow, watcher, contractWatch, unacceptedAssets, solvency, paymentsCondition } = chain;
  const startedAt = isoTime(clock.now());
  const startedAtSeconds = head.networkSeconds();
  let asking: Promise<unknown> | undefined;

  const isShownLately = () => clock.monotonicMs() - (head.shownAtMs ?? -Infinity) < LATELY_MS;

  /** Since when the log may lack events, Unix seconds of the network; undefined while it follows the network. */
  function unknownSince({ scannedLedger, scannedCloseTime }: HistoryStatus): number | undefined {
    const known = Math.max(watcher.knownUntil(scannedLedger) ?? 0, scannedCloseTime ?? startedAtSeconds);
    return head.networkSeconds() - known > BEHIND_SECONDS ? Math.floor(known) : undefined;
  }

  /**
   * Checks the contracts, and nodes that are not well or were not called lately, for a gateway that does not watch. It runs
   * in the background, and the next response shows the result.
   */
  function look(): void {
    void contractWatch.check();
    if (isShownLately() && rpc.nodes().every(({ condition }) => condition === "well")) return;
    // A call also probes the nodes that are not in use.
    asking ??= rpc.getHealth({ signal: stopping }).catch(() => {}).finally(() => asking = undefined);
  }

  function conditionWith<S>(ofStore: S): Omit<Condition, keyof OfStore> & S {
    const bypass = unacceptedAssets.found();
    const contracts = contractWatch.contracts();
    return { head, nodes: rpc.nodes(), contracts, troubles: troubles(), bypass, ...ofStore };
  }

  const inTimeFor = {
    history: inTime(clock.wait, history.status),
    backlog: inTime(clock.wait, backlog, { orLast: true }),
    solvency: inTime(clock.wait, solvency.last, { orLast: true }),
    payments: inTime(clock.wait, paymentsCondition, { orLast: true }),
    reconciliation: inTime(clock.wait, reconciliation, { orLast: true }),
    look: inTime(clock.wait, unacceptedAssets.look),
  };

  return {
    /** The response of `GET /v1/status`. Rejects when the store fails. */
    async status(): Promise<GatewayStatus> {
      look();
      const ofStore = [
        history.status(),
        backlog(),
        solvency.last(),
        paymentsCondition(),
        reconciliation(),
        unacceptedAssets.look(),
      ] as const;
      const [held, owed, compared, payments, reconciled] = await Promise.all(ofStore);
      const read = { history: held, backlog: owed, solvency: compared, payments, reconciliation: reconciled };
      const condition = conditionWith(read);
      const found = shown(condition, {
        nowMs: clock.now(),
        unknownSince: unknownSince(held),
        because: watcher.trouble,
      });
      return { version: VERSION, startedAt, ...found, reads: escrow.reads.ways() };
    },
    /** For a scrape. Never rejects, and returns in time while the store is slow. */
    async scraped(): Promise<Condition> {
      look();
      // Store errors have a counter of their own. A scrape without the store's values is better than none.
      const { history, backlog, solvency, payments, reconciliation, look: lookInTime } = inTimeFor;
      const ofStore = Promise.all([history(), backlog(), solvency(), payments(), reconciliation()]).catch(() => []);
      await lookInTime().catch(() => {});
      const [held, owed, compared, paid, reconciled] = await ofStore;
      const read = { history: held, backlog: owed, solvency: compared, payments: paid, reconciliation: reconciled };
      return conditionWith(read);
    },
  };
}

function shown(
  { head, nodes, contracts, troubles, bypass, payments, solvency, reconciliation, history, backlog }: Condition & {
    history: HistoryStatus;
    backlog: Backlog;
    payments: PaymentsCondition;
  },
  { nowMs, unknownSince, because = "the gateway has not read them yet" }: {
    nowMs: number;
    unknownSince: number | undefined;
    because?: string;
  },
): Omit<GatewayStatus, "version" | "startedAt" | "reads"> {
  const { sequence, closeTime } = head;
  const { held, gaps, epoch, undecodedEvents, clockDisagreesBySeconds } = history;
  const networkSeconds = Math.round(nowMs / 1_000) + (clockDisagreesBySeconds ?? 0);
  const { failing: failingWebhooks, oldestSince, ...deliveries } = backlog;
  const oldestSeconds = oldestSince === null ? null : Math.max(0, closeTime - oldestSince);
  const since = unknownSince === undefined ? null : isoSeconds(unknownSince * 1_000);
  const unreconciled = reconciliationTrouble(reconciliation, epoch);
  return {
    troubles: [
      ...troubles,
      ...(since === null ? [] : [`events since ${since} are unknown: ${because}`]),
      ...(unreconciled === undefined ? [] : [unreconciled]),
    ],
    ledger: {
      sequence,
      closedAt: closeTime === 0 ? null : isoTime(closeTime * 1_000),
      lagSeconds: closeTime === 0 ? null : Math.max(0, networkSeconds - closeTime),
      clockDisagreesBySeconds,
    },
    history: { epoch, ranges: held, gaps, undecodedEvents, unknownSince: since },
    contracts: contracts.map(({ name, id, problem = null, checkedAtMs }) => {
      return { contract: name, id, problem, checkedAt: checkedAtMs === undefined ? null : isoTime(checkedAtMs) };
    }),
    expiring: payments.expiring,
    expired: expiredShown(payments.expired),
    bypassMovements: bypassMovementsOf(bypass),
    solvency: solvency ?? null,
    nodes: nodes.map(({ name, inUse, condition, problem = null, closeTime, lagSeconds }) => {
      return { node: name, inUse, condition, problem, lagSeconds: closeTime === 0 ? null : lagSeconds };
    }),
    deliveries: { ...deliveries, failingWebhooks, oldestSeconds },
  };
}

function expiredShown({ payments, others, last }: PaymentsCondition["expired"]): GatewayStatus["expired"] {
  if (last === null) return { payments, others, last };
  const { id, merchant, deviceHash, amount, asset = null, txHash, expired } = last;
  const expiredAt = isoSeconds(expired!.at * 1_000);
  return { payments, others, last: { id, merchant, deviceHash, amount, asset, txHash, expiredAt } };
}

function bypassMovementsOf({ count, last }: Condition["bypass"]): GatewayStatus["bypassMovements"] {
  if (last === undefined) return { count, last: null };
  const { event: { id, type, ledger, asset }, because } = last;
  return { count, last: { eventId: id, type: type as typeof EVENT_TYPES[number], ledger, asset, because } };
}

/** Twice this, and one second for the payments, is half of Prometheus' default timeout of 10 s. */
const STORE_MS = 2_000;

/**
 * Bounds how long a scrape waits for a slow store. A read that takes too long rejects. With `orLast` it returns its last value
 * instead, if there is one, so a slow count does not come and go.
 */
export function inTime<T>(wait: Wait, read: () => Promise<T>, { orLast = false } = {}): () => Promise<T> {
  let last: { is: T } | undefined;
  return async () => {
    const answered = new AbortController();
    const timeout = wait(STORE_MS, answered.signal).then(() => orLast ? last : undefined);
    const value = read().then((is) => last = { is });
    const found = await Promise.race([value, timeout]).finally(() => answered.abort());
    if (found === undefined) throw new Error(`the store did not answer within ${STORE_MS} ms`);
    return found.is;
  };
}

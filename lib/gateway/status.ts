import type { Clock } from "../clock.ts";
import type { History } from "../events/history.ts";
import type { EVENT_TYPES } from "../escrow/events.ts";
import type { GatewayStatus } from "../http/status_response.ts";
import { VERSION } from "../version.ts";
import type { Backlog } from "../webhooks/backlog.ts";
import type { BypassMovements } from "../escrow/assets/bypass_movements.ts";
import type { Chain } from "./chain.ts";

export interface StatusParts {
  chain: Chain;
  history: History;
  backlog(): Promise<Backlog>;
  clock: Clock;
  /** Problems of the store's file, for people. */
  troubles(): string[];
}

/** The response of `GET /v1/status`: the condition of the gateway, for operators and dashboards. */
export function createStatus({ chain, history, backlog, clock, troubles }: StatusParts): () => Promise<GatewayStatus> {
  const { rpc, head, escrow, contractWatch, unacceptedAssets, expiring } = chain;
  const startedAt = new Date(clock.now()).toISOString();

  return async function status() {
    chain.look();
    const [{ held, gaps, epoch, undecodedEvents, clockDisagreesBySeconds }, owed] = await Promise.all([
      history.status(),
      backlog(),
      unacceptedAssets.look(),
    ]);
    const { sequence, closeTime } = head;
    const networkSeconds = Math.round(clock.now() / 1_000) + (clockDisagreesBySeconds ?? 0);
    return {
      version: VERSION,
      startedAt,
      troubles: troubles(),
      ledger: {
        sequence,
        closedAt: closeTime === 0 ? null : new Date(closeTime * 1_000).toISOString(),
        lagSeconds: closeTime === 0 ? null : Math.max(0, networkSeconds - closeTime),
        clockDisagreesBySeconds,
      },
      history: { epoch, ranges: held, gaps, undecodedEvents },
      contracts: contractWatch.contracts().map(({ name, id, problem, checkedAtMs }) => ({
        contract: name,
        id,
        problem: problem ?? null,
        checkedAt: checkedAtMs === undefined ? null : new Date(checkedAtMs).toISOString(),
      })),
      expiring: await expiring.now().catch(() => null),
      bypassMovements: bypassMovementsOf(unacceptedAssets),
      reads: escrow.reads.ways(),
      nodes: rpc.nodes().map(({ name, inUse, condition, problem, closeTime, lagSeconds }) => ({
        node: name,
        inUse,
        condition,
        problem: problem ?? null,
        lagSeconds: closeTime === 0 ? null : lagSeconds,
      })),
      deliveries: {
        pending: owed.pending,
        atLeast: owed.atLeast,
        retrying: owed.retrying,
        rejected: owed.rejected,
        dead: owed.dead,
        failingWebhooks: owed.failing,
        oldestSeconds: owed.oldestSince === null ? null : Math.max(0, closeTime - owed.oldestSince),
      },
    };
  };
}

function bypassMovementsOf({ found }: BypassMovements): GatewayStatus["bypassMovements"] {
  const { count, last } = found();
  if (last === undefined) return { count, last: null };
  const { event: { id, type, ledger, asset }, because } = last;
  return { count, last: { eventId: id, type: type as typeof EVENT_TYPES[number], ledger, asset, because } };
}

import type { Config } from "../config.ts";
import { monotonicNow as monotonicClock } from "../clock.ts";
import { createHistory } from "../events/history.ts";
import { createApp, type GatewayApp } from "../http/app.ts";
import { createRequestIds } from "../http/middleware/request_id.ts";
import type { NetworkAnswer } from "../http/routes/network.ts";
import type { TransactionParts } from "../http/routes/transactions.ts";
import type { GatewayStatus } from "../http/routes/status.ts";
import type { KeyVerifier } from "../keys/verifier.ts";
import { createAddressLimiter } from "../limits/address_limiter.ts";
import type { Limiter } from "../limits/limiter.ts";
import { createRateLimitHeaders } from "../limits/rate_limit_headers.ts";
import { METRICS_CONTENT_TYPE } from "../metrics/exposition.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { VERSION } from "../version.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { Chain } from "./chain.ts";
import type { GatewayMetrics } from "../metrics/gateway_metrics.ts";
import type { GatewayOptions } from "./options.ts";

/** What /v1/network answers: an application speaks with the node that it is shown, so that is one that is well. */
function createNetworkAnswer(
  { publicRpcUrl, rpcUrls, networkPassphrase, deviceRegistry, agentRegistry, paymentEscrow }: Config,
  rpc: Pick<NodesRpcClient, "nodes">,
): () => NetworkAnswer {
  const contracts = { deviceRegistry, agentRegistry, paymentEscrow };
  const answers = rpcUrls.map((url) => {
    return { rpcUrl: publicRpcUrl ?? new URL(url).origin, networkPassphrase, contracts };
  });
  return () => answers[answers.length === 1 ? 0 : rpc.nodes().findIndex(({ inUse }) => inUse)]!;
}

export interface HttpParts {
  limiter: Limiter;
  verifier: KeyVerifier;
  webhooks: Webhooks;
  metrics: GatewayMetrics;
  isStopping(): boolean;
  isDraining(): boolean;
}

/** Puts together the HTTP surface of a gateway. */
export function createHttp(
  { config, store, log, now = Date.now, monotonicNow = monotonicClock, checkAnswers = false }: GatewayOptions,
  { rpc, tip, escrow, watcher, contractWatch }: Chain,
  { limiter, verifier, webhooks, metrics, isStopping, isDraining }: HttpParts,
): GatewayApp {
  const history = createHistory({ store, tip });
  const startedAt = new Date(now()).toISOString();

  /** What was just confirmed shows in the history at once, not a poll later. */
  const submit: TransactionParts["submit"] = async (xdr, note) => {
    const confirmed = await escrow.transactions.submit(xdr, note);
    watcher.wake();
    return confirmed;
  };

  async function status(): Promise<GatewayStatus> {
    const [{ held, gaps, epoch, undecodedEvents }, backlog, watched] = await Promise.all([
      history.status(),
      store.backlog(),
      store.watcherState(),
    ]);
    // Where turns of the watcher run elsewhere, they have seen more than this process.
    if (watched !== undefined) tip.observe(watched.latestLedger, watched.latestLedgerCloseTime || undefined);
    const { sequence, closeTime } = tip;
    return {
      version: VERSION,
      startedAt,
      ledger: {
        sequence,
        closedAt: closeTime === 0 ? null : new Date(closeTime * 1000).toISOString(),
        lagSeconds: closeTime === 0 ? null : Math.max(0, Math.round(now() / 1000) - closeTime),
      },
      history: { epoch, ranges: held, gaps, undecodedEvents },
      contracts: contractWatch.contracts().map(({ name, id, problem, lookedAtMs }) => ({
        contract: name,
        id,
        problem: problem ?? null,
        checkedAt: lookedAtMs === undefined ? null : new Date(lookedAtMs).toISOString(),
      })),
      reads: escrow.reads.ways(),
      nodes: rpc.nodes().map(({ name, inUse, condition, problem, closeTime, lagSeconds }) => ({
        node: name,
        inUse,
        condition,
        problem: problem ?? null,
        lagSeconds: closeTime === 0 ? null : lagSeconds,
      })),
      deliveries: {
        pending: backlog.pending,
        dead: backlog.dead,
        oldestSeconds: backlog.oldestCreatedAtMs === null
          ? null
          : Math.max(0, Math.round((now() - backlog.oldestCreatedAtMs) / 1000)),
      },
    };
  }

  return createApp({
    services: {
      network: createNetworkAnswer(config, rpc),
      reads: escrow.reads,
      payments: escrow.payments,
      transactions: { ...escrow.transactions, submit },
      history,
      webhooks: webhooks.subscriptions,
      status,
    },
    corsOrigins: config.corsOrigins,
    pages: config.pages === "on",
    version: VERSION,
    requestId: createRequestIds(),
    verifier,
    limiter,
    addresses: createAddressLimiter({ monotonicNow, rate: config.defaultRate }),
    trustProxy: config.trustProxy,
    rateHeaders: createRateLimitHeaders(),
    log,
    meter: metrics.meter,
    onLimited: metrics.limited,
    metrics: config.metricsToken === undefined ? undefined : {
      token: config.metricsToken,
      contentType: METRICS_CONTENT_TYPE,
      render: () =>
        metrics.render({
          ledger: () => tip,
          nodes: rpc.nodes,
          history: history.status,
          backlog: () => store.backlog(),
        }),
    },
    isStopping,
    isDraining,
    checkAnswers,
  });
}

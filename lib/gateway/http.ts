import type { Config } from "../config.ts";
import type { Clock } from "../clock.ts";
import { assetId } from "../escrow/assets/asset_list.ts";
import { createAssetList } from "../escrow/assets/asset_list.ts";
import type { Confirmed } from "../escrow/escrow.ts";
import { createTransactionList } from "../escrow/operations/submitted_transactions.ts";
import { createPaymentReads } from "../escrow/payments/payment_reads.ts";
import type { History } from "../events/history.ts";
import type { EventStreams } from "../events/streams.ts";
import { createApp, type GatewayApp } from "../http/app.ts";
import { createIdempotency } from "../http/intents/idempotency.ts";
import { createWebhookIntents } from "../http/intents/webhooks.ts";
import { createPrepare, createSubmit, type Prepare } from "../http/intents/transactions.ts";
import { limitSubmits } from "../http/intents/submit_limit.ts";
import { createRequestIds } from "../http/middleware/request_id.ts";
import { BODY_TIMEOUT_MS } from "../http/validation/body.ts";
import type { NetworkResponse } from "../http/status_response.ts";
import type { Dependencies } from "../http/request_context.ts";
import type { KeyVerifier } from "../keys/verifier.ts";
import { createAddressLimiter } from "../limits/address_limiter.ts";
import type { Limiter } from "../limits/limiter.ts";
import { createRateLimitHeaders } from "../limits/rate_limit_headers.ts";
import { METRICS_CONTENT_TYPE } from "../metrics/exposition.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { sourceAndFee } from "../stellar/transactions/transaction_lookup.ts";
import { randomBase62, secureRandom } from "../random.ts";
import type { GivenReference } from "../store/reference.ts";
import { VERSION } from "../version.ts";
import type { Webhooks } from "../webhooks/webhooks.ts";
import type { Maintenance } from "./maintenance.ts";
import type { Chain } from "./chain.ts";
import type { GatewayMetrics } from "./gateway_metrics.ts";
import type { GatewayOptions } from "./options.ts";
import type { Reconciliations } from "./reconciliations.ts";
import { createStatus } from "./status.ts";

/** The response of /v1/network. Applications use the node in it, so it is a healthy one. */
function createNetworkResponse(
  { publicRpcUrl, rpcUrls, networkPassphrase, deviceRegistry, agentRegistry, paymentEscrow, assets: names }: Config,
  rpc: Pick<NodesRpcClient, "nodes">,
): () => NetworkResponse {
  const contracts = { deviceRegistry, agentRegistry, paymentEscrow };
  const { ids } = createAssetList(names, networkPassphrase);
  const assets = ids === undefined ? null : [...ids];
  const answers = rpcUrls.map((url) => {
    return { rpcUrl: publicRpcUrl ?? new URL(url).origin, networkPassphrase, contracts, assets };
  });
  return () => answers[answers.length === 1 ? 0 : rpc.nodes().findIndex(({ inUse }) => inUse)]!;
}

export interface HttpParts {
  clock: Clock;
  limiter: Limiter;
  verifier: KeyVerifier;
  history: History;
  streams: EventStreams;
  webhooks: Webhooks;
  metrics: GatewayMetrics;
  maintenance: Maintenance;
  reconciliations: Reconciliations;
  isStopping(): boolean;
  isDraining(): boolean;
  /** Ends background work. */
  stopping: AbortSignal;
}

/** Creates the HTTP surface of a gateway. */
export function createHttp(
  { config, store, log, exampleValues, checkAnswers = false, bodyTimeoutMs = BODY_TIMEOUT_MS }: GatewayOptions,
  chain: Chain,
  parts: HttpParts,
): GatewayApp {
  const { clock, limiter, verifier, history, streams, webhooks, metrics, maintenance, reconciliations } = parts;
  const { isStopping, isDraining, stopping } = parts;
  const { rpc, head, escrow, watcher, sharedState, unresolvedSubmissions } = chain;

  const intents = {
    intents: store.intents,
    networkSeconds: head.networkSeconds,
    newVersion: () => randomBase62(22, secureRandom),
    onFull: () => metrics.requests.limited("idempotency_keys"),
  };
  const webhookIntents = createWebhookIntents({ ...intents, webhooks: webhooks.subscriptions });
  const idempotency = createIdempotency({ ...intents, transactions: escrow.transactions, clock });
  const nameTransaction = (named: Omit<GivenReference, "preparedAtMs">) =>
    store.references.record({ ...named, preparedAtMs: Math.max(clock.now(), head.networkSeconds() * 1_000) });
  const prepareFor = createPrepare({ idempotency, escrow, nameTransaction });
  const submitFor = createSubmit({ idempotency, escrow, nameTransaction });

  const onNoteFailure = (cause: unknown) => log.warn("storing that a client got its outcome failed", { cause });

  /** Another gateway may have confirmed this ledger. It published the ledger before it stored the outcome. */
  async function observeApplied(ledger: number): Promise<void> {
    if (ledger > head.sequence) await sharedState?.look();
    head.confirm(ledger);
  }

  /**
   * The history shows a confirmed transaction at once, not a poll later. All this happens before the outcome is stored. Until then a
   * client gets a warning when it prepares the same operation again, after a kill of this gateway.
   */
  const submit = limitSubmits(async (xdr, caller, note) => {
    let reports: Promise<void> | undefined;
    async function publish({ hash, ledger }: Confirmed): Promise<void> {
      await observeApplied(ledger);
      watcher.wake();
      await sharedState?.tellLedger();
      if (caller.signal.aborted) await unresolvedSubmissions.add(hash);
      else void unresolvedSubmissions.resolve(hash).catch(onNoteFailure);
    }
    const beforeNoted = (confirmed: Confirmed) => reports ??= publish(confirmed);
    const confirmed = await submitFor(xdr, { ...caller, beforeNoted }, note);
    await beforeNoted(confirmed).catch(onNoteFailure);
    return confirmed;
  }, () => metrics.requests.limited("submits"));

  const prepare: Prepare = async (request, caller) => {
    const prepared = await prepareFor(request, caller);
    // As in `observeApplied`, for a ledger that is unknown here.
    if (prepared.status === "success") await sharedState?.look();
    return prepared;
  };

  const { status, scraped } = createStatus({
    chain,
    history,
    backlog: webhooks.backlog,
    clock,
    troubles: maintenance.troubles,
    reconciliation: reconciliations.summary,
    stopping,
  });

  const transactionStatus: Dependencies["transactions"]["status"] = async (hash, signal) => {
    // The outcome is unresolved until the client has its response.
    const known = await escrow.transactions.status(hash, unresolvedSubmissions.add);
    if (known.status !== "success") return known;
    await observeApplied(known.ledger!);
    if (!signal.aborted) void unresolvedSubmissions.resolve(hash).catch(onNoteFailure);
    return known;
  };

  return createApp({
    dependencies: {
      network: createNetworkResponse(config, rpc),
      reads: escrow.reads,
      payments: escrow.payments,
      paymentReads: createPaymentReads({
        store,
        ledgerTimes: escrow.ledgerTimes,
        latestLedger: () => head.sequence,
        sourceAndFee: (hash) => sourceAndFee(rpc, hash),
      }),
      assets: escrow.assets,
      reconciliation: reconciliations.last,
      transactions: { prepare, submit, status: transactionStatus, list: createTransactionList(store) },
      history,
      streams,
      webhooks: { ...webhooks.subscriptions, ...webhookIntents },
      status,
    },
    corsOrigins: config.corsOrigins,
    pages: config.pages === "on",
    version: VERSION,
    exampleValues,
    requestId: createRequestIds(),
    assetId: (name) => assetId(name, config.networkPassphrase),
    verifier,
    limiter,
    addresses: createAddressLimiter({ monotonicNow: wholeMs(clock), rate: config.defaultRate }),
    trustProxy: config.trustProxy,
    rateHeaders: createRateLimitHeaders(),
    log,
    meter: metrics.requests.meter,
    onLimited: metrics.requests.limited,
    metrics: config.metricsToken === undefined ? undefined : {
      token: config.metricsToken,
      contentType: METRICS_CONTENT_TYPE,
      render: async () => metrics.render(await scraped(), streams.size),
    },
    isStopping,
    isDraining,
    isStoreGone: maintenance.isStoreGone,
    bodyTimeoutMs,
    checkAnswers,
  });
}

/** Buckets count in whole milliseconds. */
export function wholeMs({ monotonicMs }: Clock): () => number {
  return () => Math.floor(monotonicMs());
}

/**
 * A typed client of the gateway. Uses Web APIs only: Node 20 and later, Deno, Bun, browsers, workers. Only `write` needs
 * another package, `@stellar/stellar-sdk`.
 *
 * @example
 * ```ts
 * const gateway = createGatewayClient({ baseUrl, apiKey, network });
 * const card = await gateway.device(await deviceHash(uid));
 * if (!card.ok) throw new Error(`${card.reason}: ${card.message}`);
 * const paid = await gateway.write({ kind: "authorize", deviceHash, merchant, asset, amount: toUnits("4.5") }, agentKeypair);
 * for await (const event of gateway.events({ types: ["payment.claimed"] })) await book(event.id, event.amount);
 * ```
 *
 * @module
 */
import type { AttemptPage, Endpoints, FailedDeliveryPage, QueryValue } from "./api_types.ts";
import { createEventFeed, type EventFeed, type EventFeedOptions, FeedError } from "./events.ts";
import type { Operation, TrustedNetwork } from "./operation_call.ts";
import { type ConnectionOptions, createConnection, type RequestOptions, type Result } from "./request.ts";
import { type SignEnvelope, type SigningKey, write, type WriteOptions, type Written } from "./write.ts";

export type { ContractErrorName, Endpoints } from "./api_types.ts";
export { type EventFeed, type EventFeedOptions, type EventNotice, type EventType, FeedError } from "./events.ts";
export type { EventSubjects, GatewayEvent } from "./events.ts";
export type { SigningBounds } from "./envelope.ts";
export type { Operation, PreparedOperation, TrustedNetwork } from "./operation_call.ts";
export { receive, type Received } from "./receive.ts";
export type { Failure, FailureReason, RequestOptions, Result } from "./request.ts";
export { deviceHash } from "./device_hash.ts";
export { fromUnits, toUnits } from "./units.ts";
export { verifyWebhook, type VerifyWebhookOptions, type WebhookVerification } from "./verify_webhook.ts";
export type { SignedEnvelope, SignEnvelope, SigningKey, WriteOptions, Written } from "./write.ts";

export interface GatewayClientOptions extends ConnectionOptions {
  /**
   * The network and the contracts that `write` signs for, from your own configuration. Call `network()` once and store the
   * answer. A gateway that is asked at each write could name other contracts.
   */
  network?: TrustedNetwork;
}

type Answer<Name extends keyof Endpoints> = Endpoints[Name]["answer"];
type Body<Name extends keyof Endpoints> = Endpoints[Name] extends { body: infer B } ? B : never;
type Query<Name extends keyof Endpoints> = Endpoints[Name] extends { query: infer Q } ? Q : never;
type PaymentsQuery = Omit<Query<"GET /v1/payments">, "format">;
/** A payment and what became of it. */
export type Payment = Answer<"GET /v1/payments">["payments"][number];
type TransactionsQuery = Omit<Query<"GET /v1/transactions">, "format">;
/** A transaction that this API key submitted. */
export type SubmittedTransaction = Answer<"GET /v1/transactions">["transactions"][number];
type DeliveriesQuery = Query<"GET /v1/webhooks/:id/deliveries">;

export type GatewayClient = ReturnType<typeof createGatewayClient>;

/**
 * Creates a client of one gateway. Its methods resolve with `{ ok: true, … }` and the endpoint's fields, or with
 * `{ ok: false, reason, message, … }`, and do not throw. After a 429 answer they wait and retry.
 * @throws {TypeError} when `baseUrl` is no URL, `apiKey` is no API key, or a time is no number
 */
export function createGatewayClient(options: GatewayClientOptions) {
  const connection = createConnection(options);

  function call<Name extends keyof Endpoints>(
    name: Name,
    { params = {}, query = {}, body }: { params?: Record<string, string>; query?: object; body?: unknown } = {},
    request?: RequestOptions,
  ): Promise<Result<Answer<Name>>> {
    const [method, pattern] = name.split(" ") as [string, string];
    const path = pattern.replace(/:(\w+)/g, (_, param: string) => encodeURIComponent(params[param] ?? ""));
    return connection.request(method, path + queryText(query), body, request);
  }

  return {
    /** Whether the gateway is alive; needs no key. */
    health: (request?: RequestOptions) => call("GET /v1/health", {}, request),
    network: (request?: RequestOptions) => call("GET /v1/network", {}, request),
    status: (request?: RequestOptions) => call("GET /v1/status", {}, request),

    device: (hash: string, request?: RequestOptions) => call("GET /v1/devices/:hash", { params: { hash } }, request),
    policy: (hash: string, request?: RequestOptions) =>
      call("GET /v1/devices/:hash/policy", { params: { hash } }, request),
    /** The cards of a wallet. */
    walletDevices: (address: string, request?: RequestOptions) =>
      call("GET /v1/wallets/:address/devices", { params: { address } }, request),
    /** The payments that a merchant can claim. */
    pending: (address: string, request?: RequestOptions) =>
      call("GET /v1/merchants/:address/pending", { params: { address } }, request),
    /** An asset's symbol, name and decimals. */
    asset: (asset: string, request?: RequestOptions) => call("GET /v1/assets/:asset", { params: { asset } }, request),
    /** Whether the contracts would authorise a payment now; `reason` when they would not. */
    checkPayment: (payment: Body<"POST /v1/payments/check">, request?: RequestOptions) =>
      call("POST /v1/payments/check", { body: payment }, request) as Promise<PaymentVerdict>,

    /** One page of payments with their states. */
    paymentPage: (query: PaymentsQuery = {}, request?: RequestOptions) => call("GET /v1/payments", { query }, request),
    /**
     * All payments that match, page by page, the newest first: `for await (const payment of client.payments())`.
     * @throws {FeedError} from the iterator when the gateway refuses or does not answer
     */
    payments: (query: Omit<PaymentsQuery, "cursor"> = {}, request?: RequestOptions): AsyncGenerator<Payment> =>
      allOf((cursor) => call("GET /v1/payments", { query: { limit: 1_000, ...query, cursor } }, request), "payments"),
    /** A payment by the id of its `payment.authorized` event. */
    payment: (id: string, request?: RequestOptions) => call("GET /v1/payments/:id", { params: { id } }, request),

    /** The last comparison of the log with the contracts; `not_found` before the first one. */
    reconciliation: (request?: RequestOptions) => call("GET /v1/reconciliation", {}, request),

    /** One page of the history. */
    eventPage: (query: Omit<Query<"GET /v1/events">, "format"> = {}, request?: RequestOptions) =>
      call("GET /v1/events", { query }, request),
    event: (id: string, request?: RequestOptions) => call("GET /v1/events/:id", { params: { id } }, request),
    /** The history and then new events, each once: `for await (const event of client.events())`. */
    events: (feed: EventFeedOptions = {}): EventFeed => createEventFeed(connection, feed),

    prepare: (body: Body<"POST /v1/transactions/prepare">, request?: RequestOptions) =>
      call("POST /v1/transactions/prepare", { body }, request),
    submit: (xdr: string, request?: RequestOptions) => call("POST /v1/transactions/submit", { body: { xdr } }, request),
    transaction: (hash: string, request?: RequestOptions) =>
      call("GET /v1/transactions/:hash", { params: { hash } }, request),
    /** One page of the transactions that this API key submitted. */
    transactionPage: (query: TransactionsQuery = {}, request?: RequestOptions) =>
      call("GET /v1/transactions", { query }, request),
    /**
     * All transactions that this API key submitted and that match, page by page, the newest first.
     * @throws {FeedError} as `payments`
     */
    transactions: (query: Omit<TransactionsQuery, "cursor"> = {}, request?: RequestOptions) =>
      allOf(
        (cursor) => call("GET /v1/transactions", { query: { limit: 1_000, ...query, cursor } }, request),
        "transactions",
      ),
    /**
     * Prepares, checks, signs and submits an operation, and waits for its confirmation.
     * @param sign a `Keypair`, or a function that signs an envelope: a wallet's, or your own
     * @throws {TypeError} when the client was made without `network`
     */
    write(operation: Operation, sign: SigningKey | SignEnvelope, options_: WriteOptions = {}): Promise<Written> {
      if (options.network === undefined) {
        throw new TypeError(
          "network must be set in createGatewayClient({ network }): write compares envelopes with it",
        );
      }
      return write(connection, options.network, operation, sign, options_);
    },

    webhooks: {
      create: (webhook: Body<"POST /v1/webhooks">, request?: RequestOptions) =>
        call("POST /v1/webhooks", { body: webhook }, request),
      list: (request?: RequestOptions) => call("GET /v1/webhooks", {}, request),
      get: (id: string, request?: RequestOptions) => call("GET /v1/webhooks/:id", { params: { id } }, request),
      delete: (id: string, request?: RequestOptions) => call("DELETE /v1/webhooks/:id", { params: { id } }, request),
      rotateSecret: (id: string, request?: RequestOptions) =>
        call("POST /v1/webhooks/:id/secret", { params: { id } }, request),
      test: (id: string, request?: RequestOptions) => call("POST /v1/webhooks/:id/test", { params: { id } }, request),
      /** The attempts to deliver, newest first. */
      deliveries: (id: string, query: Omit<DeliveriesQuery, "state"> = {}, request?: RequestOptions) =>
        call("GET /v1/webhooks/:id/deliveries", { params: { id }, query }, request) as Promise<Result<AttemptPage>>,
      /** The failed deliveries in a state. */
      failedDeliveries: (
        id: string,
        query: DeliveriesQuery & { state: NonNullable<DeliveriesQuery["state"]> },
        request?: RequestOptions,
      ) =>
        call("GET /v1/webhooks/:id/deliveries", { params: { id }, query }, request) as Promise<
          Result<FailedDeliveryPage>
        >,
      /** One attempt, with its request. */
      attempt: (id: string, attempt: string, request?: RequestOptions) =>
        call("GET /v1/webhooks/:id/deliveries/:attempt", { params: { id, attempt } }, request),
      replay: (id: string, body: Body<"POST /v1/webhooks/:id/replay">, request?: RequestOptions) =>
        call("POST /v1/webhooks/:id/replay", { params: { id }, body }, request),
    },
  };
}

/** The result of `checkPayment`: its reasons are those of the contracts, and those of a failed call. */
export type PaymentVerdict =
  | { ok: true; warning?: string }
  | Extract<Answer<"POST /v1/payments/check">, { ok: false }>
  | (
    Extract<Result<unknown>, { ok: false }>
  );

/** The records of all pages. @throws {FeedError} when the gateway refuses or does not answer */
async function* allOf<Name extends string, T>(
  read: (cursor?: string) => Promise<Result<Record<Name, T[]> & { cursor: string | null }>>,
  name: Name,
): AsyncGenerator<T> {
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    if (!page.ok) throw new FeedError(page);
    yield* (page as Record<Name, T[]>)[name];
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
}

function queryText(query: object): string {
  const given = (Object.entries(query) as [string, QueryValue | undefined][]).filter(([, value]) =>
    value !== undefined
  );
  return given.length === 0 ? "" : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`;
}

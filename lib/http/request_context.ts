import type { Context } from "hono";
import type { TransactionStatus } from "../escrow/escrow.ts";
import type { ListTransactions } from "../escrow/operations/submitted_transactions.ts";
import type { AssetReader } from "../escrow/reads/asset_info.ts";
import type { PaymentReads } from "../escrow/payments/payment_reads.ts";
import type { PaymentChecker } from "../escrow/reads/payment_check.ts";
import type { EscrowReads } from "../escrow/reads/reads.ts";
import type { History } from "../events/history.ts";
import type { EventStreams } from "../events/streams.ts";
import type { KeyVerifier } from "../keys/verifier.ts";
import type { AddressLimiter } from "../limits/address_limiter.ts";
import { clientAddress } from "../limits/client_address.ts";
import type { Limiter } from "../limits/limiter.ts";
import type { RateLimitHeaders } from "../limits/rate_limit_headers.ts";
import type { Verdict } from "../limits/token_bucket.ts";
import type { RecentMap } from "../bounded_map.ts";
import type { Log, LogFields } from "../log.ts";
import type { Peer } from "../runtime/serve.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Subscriptions } from "../webhooks/subscriptions.ts";
import type { CreateWebhook, ReplayWebhook } from "./intents/webhooks.ts";
import type { ReconciliationResponse } from "./reconciliation_response.ts";
import type { Prepare, Submit } from "./intents/transactions.ts";
import type { Cors } from "./middleware/cors.ts";
import type { GatewayStatus, NetworkResponse } from "./status_response.ts";

/** The parts that handlers call, one for each noun. */
export interface Dependencies {
  network(): NetworkResponse;
  reads: EscrowReads;
  payments: PaymentChecker;
  paymentReads: PaymentReads;
  assets: AssetReader;
  /** The last reconciliation on the store. */
  reconciliation(): Promise<ReconciliationResponse>;
  transactions: {
    prepare: Prepare;
    submit: Submit;
    list: ListTransactions;
    /** The status of a transaction. `signal`: aborted when the client disconnects before the response. */
    status(hash: string, signal: AbortSignal): Promise<TransactionStatus>;
  };
  history: History;
  streams: Pick<EventStreams, "open">;
  webhooks: Omit<Subscriptions, "create" | "replay"> & { create: CreateWebhook; replay: ReplayWebhook };
  status(): Promise<GatewayStatus>;
}

/** The parts that every response needs. */
export interface AppParts {
  dependencies: Dependencies;
  verifier: Pick<KeyVerifier, "verify">;
  limiter: Pick<Limiter, "take" | "peek">;
  /** Limits callers without a valid key. */
  addresses: AddressLimiter;
  /** Number of trusted proxies in `X-Forwarded-For`. */
  trustProxy: number;
  rateHeaders: RateLimitHeaders;
  cors: Cors | undefined;
  /** Cached reads that have succeeded, by URL. */
  knownReads: RecentMap<KnownRead>;
  /** The ids of the keys that have an export under way. */
  exporting: Set<string>;
  requestId(request: Request): string;
  /** The contract id of an asset by name (`native`, `CODE:ISSUER`), undefined for none. */
  assetId(name: string): string | undefined;
  log: Log;
  /** Counts the responses of all requests without an endpoint. */
  otherMeter: RequestMeter;
  /** Called when a request is refused for the rate of its key or of its address. */
  onLimited(by: "key" | "address"): void;
  /** Whether the gateway has shut down and refuses all requests. */
  isStopping(): boolean;
  /** Whether the gateway closes each connection after its response. */
  isDraining(): boolean;
  /** Whether the store's file is missing. */
  isStoreGone(): boolean;
  /** How long a body may take to arrive. */
  bodyTimeoutMs: number;
  /** Whether the gateway serves the pages for browsers. Errors then link to them. */
  pages: boolean;
  /** Development and tests: check responses against the endpoint's schema. */
  checkAnswers: boolean;
}

/** Answers a cached read without parsing its URL again. */
export type KnownRead = (context: RequestContext) => Response | Promise<Response>;

/**
 * Counts the responses of one route. Synchronous responses, from memory, are not timed: two readings of the clock would
 * cost more than the counting.
 */
export interface RequestMeter {
  /** Begins the timing of an asynchronous response; returns the time for `answered`. */
  begin(): number;
  /** `begunAt`: 0 for a synchronous response. */
  answered(status: number, begunAt: number): void;
}

/** One request, from its arrival to its log line. Hono passes it as `c.env`. */
export class RequestContext {
  readonly requestId: string;
  meter: RequestMeter;
  /** The verified key. */
  key: KeyRecord | undefined = undefined;
  /** State of the key's rate limit, or of the address's without a valid key. */
  rate: Verdict | undefined = undefined;
  /** See `RequestMeter`. */
  begunAt = 0;
  /** Further fields of the log line. */
  noted: LogFields | undefined = undefined;

  constructor(readonly parts: AppParts, readonly request: Request, readonly peer: Peer) {
    this.requestId = parts.requestId(request);
    this.meter = parts.otherMeter;
  }

  note(fields: LogFields): void {
    this.noted = { ...this.noted, ...fields };
  }

  /** Address of the client, as the trusted proxies report it. */
  get client(): string {
    return clientAddress(this.request.headers, this.peer.remoteAddress, this.parts.trustProxy);
  }

  /** State of the rate limit; without a verified key that of the address, which loses no token. */
  get limit(): Verdict {
    return this.rate ??= this.parts.addresses.peek(() => this.client);
  }
}

export type AppEnv = { Bindings: RequestContext };
export type AppContext = Context<AppEnv>;

/** Continues with a value or with a promised one. A cached read has every value at once, and costs no promise. */
export function after<T, R>(value: T | Promise<T>, proceed: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(proceed) : proceed(value);
}

import type { Context } from "hono";
import type { TransactionStatus } from "../escrow/escrow.ts";
import type { AssetReader } from "../escrow/reads/asset_info.ts";
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
import type { Log, LogFields } from "../log.ts";
import type { Peer } from "../runtime/serve.ts";
import type { KeyRecord } from "../store/store.ts";
import type { Subscriptions } from "../webhooks/subscriptions.ts";
import type { CreateWebhook, ReplayWebhook } from "./intents/webhooks.ts";
import type { TransactionIntents } from "./intents/transactions.ts";
import type { CachedRequest, ResponseCache } from "./response_cache.ts";
import type { Cors } from "./middleware/cors.ts";
import type { GatewayStatus, NetworkResponse } from "./status_response.ts";

/** What the handlers call: one part a noun. */
export interface Dependencies {
  network(): NetworkResponse;
  reads: EscrowReads;
  payments: PaymentChecker;
  assets: AssetReader;
  transactions: Omit<TransactionIntents, "status"> & {
    /** What became of a transaction. `signal`: aborted when the caller leaves before the answer. */
    status(hash: string, signal: AbortSignal): Promise<TransactionStatus>;
  };
  history: History;
  streams: Pick<EventStreams, "open">;
  webhooks: Omit<Subscriptions, "create" | "replay"> & { create: CreateWebhook; replay: ReplayWebhook };
  status(): Promise<GatewayStatus>;
}

/** What every answer needs, whatever its path. */
export interface AppParts {
  dependencies: Dependencies;
  verifier: Pick<KeyVerifier, "verify">;
  limiter: Pick<Limiter, "take" | "peek">;
  /** For callers whose key fails, and only for them. */
  addresses: AddressLimiter;
  /** How many proxies are believed in `X-Forwarded-For`. */
  trustProxy: number;
  rateHeaders: RateLimitHeaders;
  cors: Cors | undefined;
  responseCache: ResponseCache;
  requestId(request: Request): string;
  /** The contract of an asset by the name that people give it (`native`, `CODE:ISSUER`), undefined for none. */
  assetId(name: string): string | undefined;
  log: Log;
  /** What counts the answers of this endpoint, or of all that is none (undefined). */
  meterOf(spec: object | undefined): RequestMeter;
  /** Told when a request is refused for the rate of its key or of its address. */
  onLimited(by: "key" | "address"): void;
  /** Whether the gateway is shutting down and answers nothing any more. */
  isStopping(): boolean;
  /** Whether connections are to be given up: each gets its answer, and is closed. */
  isDraining(): boolean;
  /** Whether the store's file is gone: the gateway is not well. */
  isStoreGone(): boolean;
  /** How long a body may take to come. */
  bodyTimeoutMs: number;
  /** Whether the pages for browsers are served; errors link to them then. */
  pages: boolean;
  /** Development and tests: also check what is answered against the endpoint's schema. */
  checkAnswers: boolean;
}

/**
 * Counts the answers of one route. What is answered at once, from memory, is not timed: looking at a clock twice would
 * cost more than all the counting.
 */
export interface RequestMeter {
  /** To be called as soon as a request turns out to take its time; answers when that was, for `answered`. */
  begin(): number;
  /** `begunAt`: 0 for what is answered at once. */
  answered(status: number, begunAt: number): void;
}

/** One request, from its arrival to its line in the log. Hono hands it around as `c.env`. */
export class RequestContext {
  readonly requestId: string;
  meter: RequestMeter;
  /** What is known of its URL from an earlier answer. */
  known: CachedRequest | undefined = undefined;
  /** Whose key was verified. */
  key: KeyRecord | undefined = undefined;
  /** How the limit of the key stands, or of the address where there is no valid key. */
  rate: Verdict | undefined = undefined;
  /** See `RequestMeter`. */
  begunAt = 0;
  /** What the log line says beside what every line says. */
  noted: LogFields | undefined = undefined;

  constructor(readonly parts: AppParts, readonly request: Request, readonly peer: Peer) {
    this.requestId = parts.requestId(request);
    this.meter = parts.meterOf(undefined);
  }

  note(fields: LogFields): void {
    this.noted = { ...this.noted, ...fields };
  }

  /** The address of who asks, as far as the proxies in front are believed. */
  get client(): string {
    return clientAddress(this.request.headers, this.peer.remoteAddress, this.parts.trustProxy);
  }

  /** How the limit stands; of the address, which pays nothing for it, where no key was verified. */
  get limit(): Verdict {
    return this.rate ??= this.parts.addresses.peek(() => this.client);
  }
}

export type AppEnv = { Bindings: RequestContext };
export type AppContext = Context<AppEnv>;

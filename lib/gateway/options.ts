import type { Config } from "../config.ts";
import type { NetworkExample } from "../escrow/example_values.ts";
import type { KeySource } from "../keys/key_source.ts";
import type { Log } from "../log.ts";
import type { Clock } from "../clock.ts";
import type { Fetch } from "../stellar/rpc/transport.ts";
import type { Store } from "../store/store.ts";
import type { WorkerLimits } from "../webhooks/delivery/post_queue.ts";
import type { Poster } from "../webhooks/post/post.ts";
import type { Resolve } from "../webhooks/targets/dns.ts";

export interface GatewayOptions {
  config: Config;
  /** Stays the caller's: closed after `stop`. */
  store: Store;
  /** Where API keys come from; stays the caller's as well. */
  keys: KeySource;
  log: Log;
  /** This machine's when absent. */
  clock?: Clock;
  /** How the RPC node is asked; the runtime's fetch when absent. */
  fetch?: Fetch;
  /** Which webhook targets are posted to, and how: never a setting, or one mistake opens the inner network. */
  targets?: TargetOptions;
  /** Sandbox: the accounts, contracts and receiver in the examples of /openapi.json, so that a client can send them. */
  exampleValues?: NetworkExample;
  /** Tests: other bounds for the deliveries under way at once. */
  workerLimits?: Partial<WorkerLimits>;
  /** Tests: how long the body of a request may take to come. */
  bodyTimeoutMs?: number;
  /** Tests: check every answer against what /openapi.json says of it. */
  checkAnswers?: boolean;
}

export interface TargetOptions {
  /** How host names are looked up; the system's resolver when absent. */
  resolve?: Resolve;
  /** Also post to loopback addresses, over plain HTTP too: the sandbox does. */
  allowLoopbackHttp?: boolean;
  /** PEM of the certification authorities to trust instead of the runtime's own. */
  ca?: string;
  /** Posts in place of the gateway's own HTTP client: simulations do. */
  poster?: Poster;
}

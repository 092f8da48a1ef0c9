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
  /** The caller closes it after `stop`. */
  store: Store;
  /** Source of the API keys; the caller closes it too. */
  keys: KeySource;
  log: Log;
  /** This machine's when absent. */
  clock?: Clock;
  /** For calls of the RPC node; the runtime's fetch when absent. */
  fetch?: Fetch;
  /** Allowed webhook targets. Never a setting, because a mistake in it would open the inner network. */
  targets?: TargetOptions;
  /** Sandbox: the accounts, contracts and receiver in the examples of /openapi.json, so that a client can send them. */
  exampleValues?: NetworkExample;
  /** Tests: other limits of concurrent deliveries. */
  workerLimits?: Partial<WorkerLimits>;
  /** Tests: how long the body of a request may take to arrive. */
  bodyTimeoutMs?: number;
  /** Tests: check every response against its schema in /openapi.json. */
  checkAnswers?: boolean;
}

export interface TargetOptions {
  /** Resolves host names; the system's resolver when absent. */
  resolve?: Resolve;
  /** Sandbox: also post to loopback addresses, even over plain HTTP. */
  allowLoopbackHttp?: boolean;
  /** PEM of the trusted certification authorities, instead of the runtime's own. */
  ca?: string;
  /** Simulations: replaces the gateway's HTTP client. */
  poster?: Poster;
}

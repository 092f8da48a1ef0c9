import { type Config, settingTitle } from "../lib/config.ts";
import { createGateway, type Gateway, type GatewayOptions } from "../lib/gateway/gateway.ts";
import { stopInOrder } from "../lib/gateway/stop_steps.ts";
import type { ListenError } from "../lib/runtime/listening.ts";
import { type HttpServer, type Peer, serveHttp } from "../lib/runtime/serve.ts";
import { sleep } from "../lib/clock.ts";
import { type KeySource, keySourceFromStore, keySourceFromText } from "../lib/keys/key_source.ts";
import { openKeysFileSource } from "../lib/keys/keys_file_source.ts";
import type { Log } from "../lib/log.ts";
import type { Store } from "../lib/store/store.ts";
import { mutable } from "./command_log.ts";

/** Bound for closing key source and store. */
const CLOSE_MS = 5_000;
/** How long requests in flight may take after the stop, beyond the time-out of a submit. */
const DRAIN_MARGIN_MS = 5_000;
/** After so long without a request in flight the stop cuts off clients that do not read their answers. */
const TAKING_MS = 10_000;
const CHECK_MS = 50;
const FAREWELL_STEP_MS = 10;
/** A live stream is silent for 5 seconds at a time, and Bun counts silence in steps of 4. */
const STREAM_SILENCE_MS = 20_000;

export interface RunningGateway {
  /** `http://host:port`. */
  url: string;
  /** Requests without an answer yet. */
  readonly requestsInFlight: number;
  /**
   * Stops accepting, finishes requests, settles deliveries, releases leases, flushes memory, closes key source and store.
   * Each step has a time bound. Never rejects.
   */
  stop(options?: StopOptions): Promise<Stopped>;
}

export interface StopOptions {
  /**
   * How long the gateway still accepts requests, and closes each connection with its answer. Without it a client's next
   * request on a kept connection could meet the close. 0 when absent.
   */
  farewellMs?: number;
}

/** The outcome of a stop. */
export interface Stopped {
  /** Whether every request got its answer, and the store has everything. */
  isClean: boolean;
  /** Requests without an answer in time. */
  requestsCutOff: number;
}

/** Answers requests before the gateway does. Undefined passes the request to the gateway. */
export type Front = (request: Request, peer: Peer) => Response | undefined;

/**
 * Starts a gateway and listens. When it cannot listen, or the node is of another network, it closes the store.
 * @throws {Error} when the gateway cannot start; the message is for the operator
 */
export async function serveGateway(options: GatewayOptions, front?: Front): Promise<RunningGateway> {
  const { config, store, log } = options;
  const starting = mutable(log);
  let gateway: Gateway | undefined;
  let server: HttpServer | undefined;
  const close = async () => {
    await server?.stop({ drainMs: 0 });
    const isWritten = await gateway?.stop() ?? true;
    const isClosed = await stopInOrder([
      { name: "the store's last writes", stop: () => store.close(), boundMs: CLOSE_MS },
    ], { wait: sleep, onProblem: (message, cause) => log.warn(message, { cause }) });
    return isWritten && isClosed;
  };
  try {
    gateway = await createGateway({ ...options, log: starting.log });
    const { fetch } = gateway;
    server = await serveHttp({
      hostname: config.host,
      port: config.port,
      fetch: front === undefined ? fetch : (request, peer) => front(request, peer) ?? fetch(request, peer),
      // Longer than the slowest answer. The runtime's own idle time-out would cut off a slow confirmation.
      idleTimeoutMs: Math.max(STREAM_SILENCE_MS, config.submitTimeoutMs + DRAIN_MARGIN_MS),
      onProblem: (message, cause) => log.warn(message, { cause }),
    });
    // The server already answers while the gateway waits for the node, which makes restarts short.
    await gateway.networkChecked;
    gateway.start();
    const { url, stop } = server;
    const { drain } = gateway;
    const requestsInFlight = () => gateway?.requestsInFlight ?? 0;
    return {
      url,
      get requestsInFlight() {
        return requestsInFlight();
      },
      async stop({ farewellMs = 0 } = {}) {
        drain();
        await farewell(farewellMs);
        const drained = new AbortController();
        const isDrained = await Promise.race([
          stop({ drainMs: config.submitTimeoutMs + DRAIN_MARGIN_MS }),
          untilNoneWaits(requestsInFlight, drained.signal).then(() => false),
        ]);
        drained.abort();
        if (!isDrained) await stop({ drainMs: 0 });
        const requestsCutOff = isDrained ? 0 : requestsInFlight();
        return { isClean: await close() && requestsCutOff === 0, requestsCutOff };
      },
    };
  } catch (error) {
    // Parts may log unrelated failures while they stop, such as that of a call in flight.
    starting.mute();
    await close();
    throw error;
  }
}

/** Waits in short steps. A machine that keeps this process from running for a while does not take the time from clients. */
async function farewell(farewellMs: number): Promise<void> {
  for (let waitedMs = 0; waitedMs < farewellMs; waitedMs += FAREWELL_STEP_MS) await sleep(FAREWELL_STEP_MS);
}

/** Resolves when no request was in flight for a while, or at the signal. */
async function untilNoneWaits(requestsInFlight: () => number, signal: AbortSignal): Promise<void> {
  for (let quietMs = 0; quietMs < TAKING_MS && !signal.aborted; quietMs += CHECK_MS) {
    await sleep(CHECK_MS, signal);
    if (requestsInFlight() > 0) quietMs = 0;
  }
}

/** Advice for a gateway without keys. No command can put a key into the environment. */
export function adviceWithoutKeys({ keys }: Pick<Config, "keys">): string {
  return keys === undefined
    ? "there are no API keys yet: create one with `gateway keygen`"
    : "there are no API keys yet: put the output of `gateway keygen --record` into SERVICE_API_KEYS and restart the gateway";
}

/** Advice for an address that the gateway cannot listen on. It names the settings. */
export function adviceOnListening({ kind }: ListenError): string {
  const port = settingTitle("port");
  switch (kind) {
    case "port_in_use":
      return `stop the program that listens there (ss -ltnp shows it), or choose another port with ${port}`;
    case "not_permitted":
      return `choose a port above 1023 with ${port}, or grant CAP_NET_BIND_SERVICE to the program`;
    case "unknown_host":
    case "foreign_address":
      return `set ${settingTitle("host")} to an address of this machine: 127.0.0.1 for itself only, 0.0.0.0 for all`;
    case "other":
      return `choose another ${settingTitle("host")} or ${port}`;
  }
}

/** Opens the place of the API keys: the environment, a keys file, or the store. */
export async function openKeySource(config: Config, store: Store, log: Log, now: () => number): Promise<KeySource> {
  if (config.keys !== undefined) return keySourceFromText(config.keys);
  if (config.keysFile === undefined) return keySourceFromStore(store);
  return await openKeysFileSource({ path: config.keysFile, now, onProblem: (message) => log.warn(message) });
}

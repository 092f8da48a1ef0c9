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

/** How long the parts that are closed last may take. */
const CLOSE_MS = 5_000;
/** How long requests under way may take to end after a stop was asked for, beyond a submit's own time. */
const DRAIN_MARGIN_MS = 5_000;
/** How long no request must have waited for its answer until those are left behind who do not take theirs: some never do. */
const TAKING_MS = 10_000;
const LOOK_MS = 50;
/** A live stream is silent for five seconds at a time; Bun counts silence in steps of four. */
const STREAM_SILENCE_MS = 20_000;

export interface RunningGateway {
  /** `http://host:port`. */
  url: string;
  /** Requests whose answer is still to come. */
  readonly requestsInFlight: number;
  /**
   * Stops accepting, finishes requests, settles deliveries, gives leases back, writes what is in memory, closes key
   * source and store. All of it is bounded in time; never rejects.
   */
  stop(options?: StopOptions): Promise<Stopped>;
}

export interface StopOptions {
  /**
   * Before it stops accepting, the gateway goes on for so long and asks for the end of each connection that it answers
   * on: a client's next request on a kept connection would run into its closing. 0 when absent.
   */
  farewellMs?: number;
}

/** How a stop ended. */
export interface Stopped {
  /** Whether every request was answered, and everything written down. */
  isClean: boolean;
  /** Requests that got no answer in time. */
  requestsCutOff: number;
}

/** Answers requests before the gateway does; undefined: that one is the gateway's. */
export type Front = (request: Request, peer: Peer) => Response | undefined;

/**
 * Starts a gateway and listens. When it cannot listen, or the node is of another network, everything it was handed is closed again.
 * @throws {Error} what keeps it from starting, in a message for the operator
 */
export async function serveGateway(options: GatewayOptions, front?: Front): Promise<RunningGateway> {
  const { config, store, keys, log } = options;
  const starting = mutable(log);
  let gateway: Gateway | undefined;
  let server: HttpServer | undefined;
  const close = async () => {
    await server?.stop({ drainMs: 0 });
    const isWritten = await gateway?.stop() ?? true;
    const isClosed = await stopInOrder([
      { name: "the keys", stop: () => keys.close(), boundMs: CLOSE_MS },
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
      // Longer than the slowest answer, or a runtime's own idle time-out would cut off a slow confirmation.
      idleTimeoutMs: Math.max(STREAM_SILENCE_MS, config.submitTimeoutMs + DRAIN_MARGIN_MS),
      onProblem: (message, cause) => log.warn(message, { cause }),
    });
    // Answering does not wait for the node: a restart is over sooner, whatever the node does.
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
        await sleep(farewellMs);
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
    // What the parts still say while they are stopped, of a node that was just being asked, is not what was in the way.
    starting.mute();
    await close();
    throw error;
  }
}

/** Resolves when no request has waited for its answer for a while, or it does not matter any more. */
async function untilNoneWaits(requestsInFlight: () => number, signal: AbortSignal): Promise<void> {
  for (let quietMs = 0; quietMs < TAKING_MS && !signal.aborted; quietMs += LOOK_MS) {
    await sleep(LOOK_MS, signal);
    if (requestsInFlight() > 0) quietMs = 0;
  }
}

/** What to do about it that there is not a single key: no command can put one into the environment. */
export function adviceWithoutKeys({ keys }: Pick<Config, "keys">): string {
  return keys === undefined
    ? "there are no API keys yet: create one with `gateway keygen`"
    : "there are no API keys yet: put records of `gateway keygen --record` into SERVICE_API_KEYS, and restart the gateway";
}

/** What to do where the gateway cannot listen, in the names of its settings. */
export function adviceOnListening({ kind }: ListenError): string {
  const port = settingTitle("port");
  switch (kind) {
    case "port_in_use":
      return `stop what listens there (ss -ltnp shows it), or choose another port with ${port}`;
    case "not_permitted":
      return `choose a port from 1024 on with ${port}, or give the program the right to (CAP_NET_BIND_SERVICE)`;
    case "unknown_host":
    case "foreign_address":
      return `set ${settingTitle("host")} to an address of this machine: 127.0.0.1 for itself only, 0.0.0.0 for all`;
    case "other":
      return `mend what it says, or choose another ${settingTitle("host")} and ${port}`;
  }
}

/** The one place that the settings name for API keys: the environment, a keys file, or the store. */
export async function openKeySource(config: Config, store: Store, log: Log, now: () => number): Promise<KeySource> {
  if (config.keys !== undefined) return keySourceFromText(config.keys);
  if (config.keysFile === undefined) return keySourceFromStore(store);
  return await openKeysFileSource({ path: config.keysFile, now, onProblem: (message) => log.warn(message) });
}

import { createGateway, type Gateway, type GatewayOptions } from "../lib/gateway.ts";
import { serveHttp } from "../lib/runtime/serve.ts";

/** How long requests under way may take to end after a stop was asked for, beyond a submit's own time. */
const DRAIN_MARGIN_MS = 5_000;

export interface RunningGateway {
  /** `http://host:port`. */
  url: string;
  /** Stops accepting, finishes requests, writes what is in memory, closes key source and store. */
  stop(): Promise<void>;
}

/**
 * Starts a gateway and listens. When it cannot listen, everything it was handed is closed again.
 * @throws {Error} what keeps it from starting, in a message for the operator
 */
export async function serveGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, store, keys } = options;
  let gateway: Gateway | undefined;
  const close = async () => {
    await gateway?.stop();
    await keys.close();
    await store.close();
  };
  try {
    gateway = await createGateway(options);
    const server = await serveHttp({
      hostname: config.host,
      port: config.port,
      fetch: gateway.fetch,
      // Longer than the slowest answer, or a runtime's own idle time-out would cut off a slow confirmation.
      idleTimeoutMs: config.submitTimeoutMs + DRAIN_MARGIN_MS,
    });
    gateway.start();
    return {
      url: server.url,
      async stop() {
        await server.stop({ drainMs: config.submitTimeoutMs + DRAIN_MARGIN_MS });
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

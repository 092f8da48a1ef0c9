import { createGateway, type Gateway, type GatewayOptions } from "../lib/gateway.ts";
import { type HttpServer, serveHttp } from "../lib/runtime/serve.ts";

/** How long requests under way may take to end after a stop was asked for, beyond a submit's own time. */
const DRAIN_MARGIN_MS = 5_000;

export interface RunningGateway {
  /** `http://host:port`. */
  url: string;
  /** Stops accepting, finishes requests, writes what is in memory, closes key source and store. */
  stop(): Promise<void>;
}

/**
 * Starts a gateway and listens. When it cannot listen, or the node is of another network, everything it was handed is closed again.
 * @throws {Error} what keeps it from starting, in a message for the operator
 */
export async function serveGateway(options: GatewayOptions): Promise<RunningGateway> {
  const { config, store, keys } = options;
  let gateway: Gateway | undefined;
  let server: HttpServer | undefined;
  const close = async () => {
    await server?.stop({ drainMs: 0 });
    await gateway?.stop();
    await keys.close();
    await store.close();
  };
  try {
    gateway = await createGateway(options);
    server = await serveHttp({
      hostname: config.host,
      port: config.port,
      fetch: gateway.fetch,
      // Longer than the slowest answer, or a runtime's own idle time-out would cut off a slow confirmation.
      idleTimeoutMs: config.submitTimeoutMs + DRAIN_MARGIN_MS,
    });
    // Answering does not wait for the node: a restart is over sooner, whatever the node does.
    await gateway.networkChecked;
    gateway.start();
    const { url, stop } = server;
    return {
      url,
      async stop() {
        await stop({ drainMs: config.submitTimeoutMs + DRAIN_MARGIN_MS });
        await close();
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

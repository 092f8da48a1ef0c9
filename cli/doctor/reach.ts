import type { Config } from "../../lib/config.ts";
import { ListenError } from "../../lib/runtime/listening.ts";
import { serveHttp } from "../../lib/runtime/serve.ts";
import type { Fetch } from "../../lib/stellar/rpc/transport.ts";
import { GatewayError } from "../../lib/errors.ts";
import type { Resolve } from "../../lib/webhooks/targets/dns.ts";
import { createTargetPolicy } from "../../lib/webhooks/targets/policy.ts";
import { adviceOnListening } from "../serve_gateway.ts";
import { fail, type Finding, ok } from "./findings.ts";

const PROBE_TIMEOUT_MS = 2_000;

/**
 * Checks that the gateway can listen at the address of the settings, or already does.
 * @param isServed whether a gateway serves the store; undefined when that is not known
 */
export async function examinePort(
  { host, port }: Config,
  isServed: boolean | undefined,
  fetch: Fetch,
): Promise<Finding> {
  try {
    const server = await serveHttp({
      hostname: host,
      port,
      fetch: () => new Response(null, { status: 503 }),
      idleTimeoutMs: PROBE_TIMEOUT_MS,
    });
    await server.stop({ drainMs: 0 });
    return ok("port", port === 0 ? `${host} has a free port` : `${host}:${port} is free`);
  } catch (error) {
    if (!(error instanceof ListenError)) throw error;
    const isGateway = await answersAsGateway(host, port, fetch);
    if (isGateway && isServed !== false) {
      const whose = isServed ? "" : "; whether it serves this store is not known, because the store could not be read";
      return ok("port", `${host}:${port}: a gateway answers there${whose}`);
    }
    return fail(
      "port",
      `${error.message}${isGateway ? ", by another gateway" : ""}`,
      adviceOnListening(error),
    );
  }
}

async function answersAsGateway(host: string, port: number, fetch: Fetch): Promise<boolean> {
  const reachable = host === "0.0.0.0"
    ? "127.0.0.1"
    : host === "::"
    ? "[::1]"
    : host.includes(":")
    ? `[${host}]`
    : host;
  try {
    const response = await fetch(`http://${reachable}:${port}/v1/health`, {
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    return (await response.text()).replace(/\s/g, "") === '{"ok":true}';
  } catch {
    // The program there does not speak HTTP, so it is no gateway.
    return false;
  }
}

/** Checks a webhook's URL by the gateway's policy, with the addresses that its host has now. */
export async function examineTarget(url: string, resolve: Resolve): Promise<Finding> {
  try {
    const { addresses } = await createTargetPolicy({ resolve }).check(url);
    return ok("webhook target", `the gateway would post to ${new URL(url).host} at ${addresses.join(", ")}`);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    return fail("webhook target", error.message, "use an https:// URL whose host has only public addresses");
  }
}

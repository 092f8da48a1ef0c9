import { GatewayError } from "../lib/errors.ts";
import type { Gateway } from "../lib/gateway/gateway.ts";
import { errorResponse } from "../lib/http/response.ts";
import { createRequestIds, REQUEST_ID_HEADER } from "../lib/http/middleware/request_id.ts";
import type { Log } from "../lib/log.ts";
import type { Peer } from "../lib/runtime/serve.ts";

export interface LazyGatewayParts {
  /** Creates a gateway. When it rejects, it has closed everything that it opened. */
  open(): Promise<Gateway>;
  log: Log;
  /** Milliseconds of a clock that nothing sets. */
  monotonicMs(): number;
}

/** A gateway that opens at the first request or turn, and needs no stop. */
export interface LazyGateway {
  /** Answers 503 when the gateway cannot be opened. The next request tries to open it again. */
  fetch(request: Request, peer: Peer): Promise<Response>;
  /** Never rejects. */
  turn(): Promise<void>;
  /** Never rejects. */
  tidy(): Promise<void>;
}

/** Below the minute between two turns. */
const TURN_MS = 50_000;
/**
 * At most once in this time a request releases leased tokens, records uses of keys, and reads the ledgers that other
 * isolates have seen.
 */
const KEEP_UP_MS = 1_000;

const NOT_READY = "the gateway cannot start; its log names the cause";

export function createLazyGateway({ open, log, monotonicMs }: LazyGatewayParts): LazyGateway {
  const requestId = createRequestIds();
  let opened: Promise<Gateway> | undefined;
  let keptUpAt = -Infinity;

  /** Opens the gateway once for all concurrent callers. Logs a failure and returns undefined. */
  async function gateway(): Promise<Gateway | undefined> {
    opened ??= open();
    const attempt = opened;
    try {
      return await attempt;
    } catch (error) {
      if (opened === attempt) {
        opened = undefined;
        log.error("gateway cannot start; the next request or turn retries", { error });
      }
      return undefined;
    }
  }

  /** Does what a server does in loops. The platform ends isolates without notice, so memory is flushed now. */
  async function keepUp(running: Gateway): Promise<void> {
    if (monotonicMs() - keptUpAt < KEEP_UP_MS) return;
    keptUpAt = monotonicMs();
    void running.flush();
    await running.lookAround();
  }

  return {
    async fetch(request, peer) {
      const running = await gateway();
      if (running === undefined) {
        const error = new GatewayError("unavailable", NOT_READY, { headers: { "Retry-After": "5" } });
        return errorResponse(error, { [REQUEST_ID_HEADER]: requestId(request) }, false);
      }
      await keepUp(running);
      return await running.fetch(request, peer);
    },
    async turn() {
      await (await gateway())?.turn(TURN_MS);
    },
    async tidy() {
      await (await gateway())?.tidy(TURN_MS);
    },
  };
}

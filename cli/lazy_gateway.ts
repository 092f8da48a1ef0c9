import { GatewayError } from "../lib/errors.ts";
import type { Gateway } from "../lib/gateway/gateway.ts";
import { errorResponse } from "../lib/http/error_response.ts";
import { createRequestIds, REQUEST_ID_HEADER } from "../lib/http/middleware/request_id.ts";
import type { Log } from "../lib/log.ts";
import type { Peer } from "../lib/runtime/serve.ts";

export interface LazyGatewayParts {
  /** Puts a gateway together; closes what it had opened when it rejects. */
  open(): Promise<Gateway>;
  log: Log;
  /** Milliseconds that no setting of a clock moves. */
  monotonicMs(): number;
}

/** A gateway that is put together when the first request or turn needs it, and does without a stop. */
export interface LazyGateway {
  /** Answers 503 when the gateway could not be put together; the next request tries again. */
  fetch(request: Request, peer: Peer): Promise<Response>;
  /** Never rejects. */
  turn(): Promise<void>;
  /** Never rejects. */
  tidy(): Promise<void>;
}

/** Below the minute between two turns. */
const TURN_MS = 50_000;
/**
 * How often, at most, a request has leased tokens given back and uses of keys noted, and waits until it is known which
 * ledgers other isolates have seen.
 */
const KEEP_UP_MS = 1_000;

const NOT_READY = "the gateway could not be started; its log says why";

export function createLazyGateway({ open, log, monotonicMs }: LazyGatewayParts): LazyGateway {
  const requestId = createRequestIds();
  let opened: Promise<Gateway> | undefined;
  let keptUpAt = -Infinity;

  /** Many at once wait for one attempt; undefined when it failed, which is logged. */
  async function gateway(): Promise<Gateway | undefined> {
    opened ??= open();
    const attempt = opened;
    try {
      return await attempt;
    } catch (error) {
      if (opened === attempt) {
        opened = undefined;
        log.error("the gateway could not be started; the next request or turn tries again", { error });
      }
      return undefined;
    }
  }

  /** What goes on in loops elsewhere. Nobody says when an isolate is about to end: what is in memory is written now. */
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

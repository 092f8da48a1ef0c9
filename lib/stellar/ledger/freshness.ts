import { GatewayError } from "../../errors.ts";
import type { Wait } from "../../clock.ts";
import { type RpcClient, RpcError } from "../rpc/rpc.ts";
import type { LedgerTip } from "./tip.ts";

const PAUSES_MS = [50, 250, 1000];

export interface FreshnessParts {
  rpc: RpcClient;
  tip: LedgerTip;
  wait: Wait;
}

/**
 * Asks until the answer speaks of a ledger that is not behind the tip: a lagging node is not believed.
 * @throws {GatewayError} `upstream_error` when the fourth answer lags too, or when a call fails
 */
export async function believed<T extends { latestLedger: number }>(
  { rpc, tip, wait }: FreshnessParts,
  ask: () => Promise<T>,
): Promise<T> {
  for (let lagged = 0;; lagged += 1) {
    const answer = await ask().catch(rethrowUpstream);
    if (tip.observe(answer.latestLedger) !== "lagging") return answer;
    const pauseMs = PAUSES_MS[lagged];
    if (pauseMs === undefined) {
      throw new GatewayError(
        "upstream_error",
        `the RPC node lags: it speaks of ledger ${answer.latestLedger}, while ledger ${tip.sequence} has been seen`,
      );
    }
    await wait(pauseMs);
    // Only an answer with a close time tells a reset network from a lagging node; a failure here changes nothing.
    await rpc.getHealth().catch(() => undefined);
  }
}

/**
 * An error of a call to the node as callers of the gateway see it: a JSON-RPC error becomes `upstream_error`. What the node
 * says is for the log (`cause`): it may hold what only the operator should see.
 */
export function upstreamError(error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  return new GatewayError(
    "upstream_error",
    `the RPC node answered error ${error.code} to ${error.method}`,
    { cause: error },
  );
}

/** For `.catch`: throws `upstreamError(error)`. */
export function rethrowUpstream(error: unknown): never {
  throw upstreamError(error);
}

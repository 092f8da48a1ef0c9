/*
 * Decides which answers of a node a client may see, and retries the others. `head.ts` has the minimum ledger;
 * `entries.ts` caches and batches reads of entries above this.
 */

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import type { Head } from "./head.ts";
import type { Verdict } from "./observe.ts";
import type { RpcClient } from "./rpc/client.ts";
import { RpcError } from "./rpc/json_rpc.ts";
import type { CallOptions } from "./rpc/nodes.ts";

export interface FreshReadParts {
  head: Head;
  clock: Pick<Clock, "monotonicMs" | "wait">;
  /** How many nodes the gateway has; 1 when absent. */
  nodes?: number;
}

const RETRY_MS = 250;
const LONGEST_MS = 6_000;

/**
 * Retries until an answer reaches the minimum ledger and is not odd. Each retry asks the next node, every 250 ms. Without a
 * head the first retry is at once, because two answers make a head.
 * @throws {GatewayError} `upstream_error` after 6 s without such an answer, or when the first call fails
 */
export async function freshRead<T extends { latestLedger: number; error?: string }>(
  { head, clock, nodes = 1 }: FreshReadParts,
  ask: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const endsAtMs = clock.monotonicMs() + LONGEST_MS;
  let node: number | undefined;
  for (let retries = 0;; retries += 1) {
    const isAtOnce = retries === 0 && head.sequence === 0;
    let verdict: Verdict | undefined;
    let answeredBy = 0;
    const answered: CallOptions["answered"] = (by, given) => [answeredBy, verdict] = [by, given];
    const asked = ask({ node, answered });
    const answer = await (node === undefined ? asked.catch(rethrowUpstream) : asked.catch(() => undefined));
    // A failed simulation carries ledger 0. So does a node that holds no ledger yet, and that answer is retried.
    if (answer?.latestLedger === 0 && answer.error !== undefined) return answer;
    if (answer !== undefined && maybeShown(head, answer.latestLedger, verdict)) {
      head.show(answer.latestLedger);
      return answer;
    }
    if (clock.monotonicMs() >= endsAtMs) {
      const shows = answer === undefined ? "fails" : `shows ledger ${answer.latestLedger}`;
      const seen = head.sequence === 0
        ? "and no two answers have agreed on the network's ledger yet"
        : `while ledger ${head.sequence} has been seen`;
      throw new GatewayError("upstream_error", `the RPC node ${shows}, ${seen}`);
    }
    node = nodes > 1 ? ((answer === undefined ? node! : answeredBy) + 1) % nodes : undefined;
    if (!isAtOnce) await clock.wait(RETRY_MS);
  }
}

function maybeShown(head: Head, ledger: number, verdict: Verdict | undefined): boolean {
  return verdict !== "odd" && ledger >= Math.max(1, head.minimum) && ledger <= head.sequence;
}

/** Asks a node for its newest ledger with the close time. Older nodes report the time in one of two methods only. */
export async function askNewest(
  rpc: Pick<RpcClient, "getHealth" | "getLatestLedger">,
  options: CallOptions = {},
): Promise<void> {
  const { closeTime } = await rpc.getLatestLedger(options).catch(rethrowUpstream);
  if (closeTime === undefined) await rpc.getHealth(options).catch(() => undefined);
}

/**
 * For `.catch`: turns an RPC error into the error that the client sees. The node's text goes only to the log, as
 * `cause`: it may hold what only the operator should see.
 */
export function rethrowUpstream(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  throw new GatewayError("upstream_error", `the RPC node answered error ${error.code} to ${error.method}`, {
    cause: error,
  });
}

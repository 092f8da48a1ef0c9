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
  /** How many nodes there are to be asked; 1 when absent. */
  nodes?: number;
}

const RETRY_MS = 250;
const LONGEST_MS = 6_000;

/**
 * Asks until an answer may be shown: one of the head, or a lagging one that reaches the minimum ledger. Another one is asked
 * again, of the nodes in turn.
 * @throws {GatewayError} `upstream_error` when none has come in 6 s, or when the first call fails
 */
export async function freshRead<T extends { latestLedger: number; error?: string }>(
  { head, clock, nodes = 1 }: FreshReadParts,
  ask: (options: CallOptions) => Promise<T>,
): Promise<T> {
  const endsAtMs = clock.monotonicMs() + LONGEST_MS;
  let node: number | undefined;
  while (true) {
    const isFirst = head.sequence === 0;
    let verdict: Verdict | undefined;
    let answeredBy = 0;
    const answered: CallOptions["answered"] = (by, said) => [answeredBy, verdict] = [by, said];
    const asked = ask({ node, answered });
    const answer = await (node === undefined ? asked.catch(rethrowUpstream) : asked.catch(() => undefined));
    // A refused simulation is of ledger 0. Another answer that is has come from a node that holds no ledger yet.
    if (answer?.latestLedger === 0 && answer.error !== undefined) return answer;
    if (answer !== undefined && maybeShown(head, answer.latestLedger, verdict)) {
      head.show(answer.latestLedger);
      return answer;
    }
    if (clock.monotonicMs() >= endsAtMs) {
      const shows = answer === undefined ? "fails" : `shows ledger ${answer.latestLedger}`;
      throw new GatewayError("upstream_error", `the RPC node ${shows}, while ledger ${head.sequence} has been seen`);
    }
    node = nodes > 1 ? ((answer === undefined ? node! : answeredBy) + 1) % nodes : undefined;
    if (!isFirst) await clock.wait(RETRY_MS);
  }
}

function maybeShown(head: Head, ledger: number, verdict: Verdict | undefined): boolean {
  return verdict !== "odd" && ledger >= Math.max(1, head.minimum) && ledger <= head.sequence;
}

/** Has a node say its newest ledger with the close time. Older nodes say the time in one of two methods only. */
export async function askNewest(
  rpc: Pick<RpcClient, "getHealth" | "getLatestLedger">,
  options: CallOptions = {},
): Promise<void> {
  const { closeTime } = await rpc.getLatestLedger(options).catch(rethrowUpstream);
  if (closeTime === undefined) await rpc.getHealth(options).catch(() => undefined);
}

/**
 * For `.catch`: an error of a call to the node as callers of the gateway see it. What the node says is for the log (`cause`):
 * it may hold what only the operator should see.
 */
export function rethrowUpstream(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  throw new GatewayError("upstream_error", `the RPC node answered error ${error.code} to ${error.method}`, {
    cause: error,
  });
}

import type { Clock } from "../../clock.ts";
import { freshRead } from "../fresh_read.ts";
import type { Head } from "../head.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";
import { sourceIn } from "./envelope.ts";
import { feeCharged } from "./results.ts";

export interface LookupParts {
  rpc: RpcClient;
  head: Head;
  clock: Clock;
  /** How many nodes the gateway has; 1 when absent. */
  nodes?: number;
}

/** The pause before a transaction that a node did not find is looked up again. */
export const ASK_AGAIN_MS = 1_000;

/**
 * Looks up a transaction. One "not found" does not prove that no ledger has it, and one node that has pruned its
 * ledgers does not prove that none knows. Each look-up asks another node if there is one.
 */
export function lookUpTransaction(parts: LookupParts, hash: string) {
  const { rpc, clock, nodes = 1 } = parts;
  let asked = 0;
  const ask = (node?: number): Promise<TransactionAnswer> =>
    freshRead(parts, (options) =>
      rpc.getTransaction(hash, {
        ...options,
        node: options.node ?? node,
        answered(by, verdict) {
          asked = by;
          options.answered?.(by, verdict);
        },
      }));
  return {
    first: () => ask(),
    /**
     * Repeats the look-up until an answer finds it. Ends after two answers of nodes that hold all its ledgers, or of
     * two that do not.
     */
    async again(first: TransactionAnswer, hasForgotten: (answer: TransactionAnswer) => boolean) {
      let answer = first;
      const seen = { whole: 0, forgetful: 0 };
      while (answer.status === "NOT_FOUND") {
        const kind = hasForgotten(answer) ? "forgetful" : "whole";
        if (++seen[kind] === 2) break;
        // A pruned ledger does not come back, so there is no pause.
        if (kind === "whole") await clock.wait(ASK_AGAIN_MS);
        answer = await ask((asked + 1) % nodes).catch(() => ask());
      }
      return answer;
    },
  };
}

/** A reader can do without these facts. */
const DETAILS_TIMEOUT_MS = 2_000;

/**
 * The source of an applied transaction, and its fee in stroops, with one call. Undefined when the node does not have the
 * transaction, and when the call fails. The RPC client reports the failure.
 */
export async function sourceAndFee(
  rpc: Pick<RpcClient, "getTransaction">,
  hash: string,
): Promise<{ source: string; fee: string } | undefined> {
  try {
    const { envelopeXdr, resultXdr } = await rpc.getTransaction(hash, { timeoutMs: DETAILS_TIMEOUT_MS });
    if (envelopeXdr === undefined || resultXdr === undefined) return undefined;
    return { source: sourceIn(envelopeXdr), fee: feeCharged(resultXdr) };
  } catch {
    return undefined;
  }
}

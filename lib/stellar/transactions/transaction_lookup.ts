import type { Clock } from "../../clock.ts";
import { freshRead } from "../fresh_read.ts";
import type { Head } from "../head.ts";
import type { RpcClient } from "../rpc/client.ts";
import type { TransactionAnswer } from "../rpc/schemas.ts";

export interface LookupParts {
  rpc: RpcClient;
  head: Head;
  clock: Clock;
  /** How many nodes there are to be asked; 1 when absent. */
  nodes?: number;
}

/** How long after a node did not find it a transaction is asked for again, where it looks as if it could be there. */
export const ASK_AGAIN_MS = 1_000;

/**
 * Looks for a transaction: one answer that does not find it is not enough to tell that no ledger has it, nor is one that
 * says what its node has forgotten enough to tell that nobody knows. Each look is at another node where there is one.
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
    /** After a first answer: one that finds it, or the second of two that hold all its ledgers, or that do not. */
    async again(first: TransactionAnswer, hasForgotten: (answer: TransactionAnswer) => boolean) {
      let answer = first;
      const seen = { whole: 0, forgetful: 0 };
      while (answer.status === "NOT_FOUND") {
        const kind = hasForgotten(answer) ? "forgetful" : "whole";
        if (++seen[kind] === 2) break;
        // What is forgotten does not come back.
        if (kind === "whole") await clock.wait(ASK_AGAIN_MS);
        answer = await ask((asked + 1) % nodes).catch(() => ask());
      }
      return answer;
    },
  };
}

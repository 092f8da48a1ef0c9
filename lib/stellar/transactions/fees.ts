import type { Clock } from "../../clock.ts";
import type { RpcClient } from "../rpc/client.ts";

/** Bounds of the inclusion fee, in stroops: the network's minimum, which a fee bump pays twice, and 0.1 XLM. */
export const MIN_INCLUSION_FEE = 100n;
const MAX_INCLUSION_FEE = 1_000_000n;

const CACHED_MS = 5_000;

export interface InclusionFees {
  /**
   * The inclusion fee to bid, in stroops, within the bounds: enough for 90 of 100 recent contract transactions. The
   * minimum when the node has no statistics.
   */
  bid(): Promise<bigint>;
}

/** Reads the node's fee statistics at most every five seconds. */
export function createInclusionFees({ rpc, clock, onProblem }: {
  rpc: RpcClient;
  clock: Clock;
  /** Called when the node returns no statistics. The bid then stays the last one, or the minimum. */
  onProblem?: (message: string) => void;
}): InclusionFees {
  let last = MIN_INCLUSION_FEE;
  let asked: Promise<bigint> | undefined;
  let askedAtMs = -Infinity;

  async function ask(): Promise<bigint> {
    try {
      const { sorobanInclusionFee } = await rpc.getFeeStats();
      const usual = BigInt(sorobanInclusionFee.p90);
      last = usual < MIN_INCLUSION_FEE ? MIN_INCLUSION_FEE : usual > MAX_INCLUSION_FEE ? MAX_INCLUSION_FEE : usual;
    } catch (error) {
      onProblem?.(`fee statistics could not be read: ${error instanceof Error ? error.message : String(error)}`);
    }
    return last;
  }

  return {
    bid() {
      if (asked === undefined || clock.monotonicMs() - askedAtMs > CACHED_MS) {
        askedAtMs = clock.monotonicMs();
        asked = ask();
      }
      return asked;
    },
  };
}

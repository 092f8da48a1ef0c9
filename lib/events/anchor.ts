import type { Clock } from "../clock.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import { NODE_HEALTH_LIMITS } from "../stellar/rpc/node_health.ts";
import type { WatcherState } from "../store/store.ts";

type Nodes = Pick<NodesRpcClient, "getLedgers" | "nodes">;

/** The node that is asked first. */
export function nodeInUse(rpc: Pick<Nodes, "nodes">): number {
  return Math.max(0, rpc.nodes().findIndex((node) => node.inUse));
}

/** Whether a node shows no new ledgers: it is not the one to say that there is no other network than the one it shows. */
export function isLeftBehind(rpc: Pick<Nodes, "nodes">, node: number): boolean {
  return rpc.nodes()[node]!.lagSeconds > NODE_HEALTH_LIMITS.lagSeconds;
}

export interface Anchors {
  /**
   * What becomes of the ledger and hash by which a reset is told (`reset_check.ts`): asked for now and then, and believed when
   * two answers agree on it, of two nodes where another one answers. Undefined: nothing changes.
   */
  next(state: WatcherState, signal: AbortSignal): Promise<Pick<WatcherState, "anchor" | "nextAnchor"> | undefined>;
}

const EVERY_MS = 600_000;
/** Where no node tells a hash. */
const RETRY_MS = 60_000;

export function createAnchors({ rpc, clock }: { rpc: Nodes; clock: Clock }): Anchors {
  let nextMs = -Infinity;

  async function hashOf(ledger: number, node: number, signal: AbortSignal): Promise<string | undefined> {
    const answer = await rpc.getLedgers({ startLedger: ledger, limit: 1 }, { node, signal }).catch(() => undefined);
    return answer?.ledgers.find(({ sequence }) => sequence === ledger)?.hash;
  }

  return {
    async next({ scannedLedger, anchor, nextAnchor }, signal) {
      const nowMs = clock.monotonicMs();
      if (nowMs < nextMs) return undefined;
      nextMs = nowMs + EVERY_MS;
      const { node: first, ledger } = nextAnchor ?? { node: nodeInUse(rpc), ledger: scannedLedger };
      const other = (first + 1) % rpc.nodes().length;
      const said = nextAnchor === undefined ? undefined : await hashOf(ledger, other, signal);
      const hash = said === undefined || isLeftBehind(rpc, other) ? await hashOf(ledger, first, signal) : said;
      if (hash === undefined) {
        nextMs = nowMs + RETRY_MS;
        return nextAnchor && { anchor };
      }
      if (nextAnchor?.hash === hash) return { anchor: { ledger, hash } };
      // One answer's word may be wrong, and would look like a reset later on.
      nextMs = -Infinity;
      return nextAnchor === undefined ? { anchor, nextAnchor: { node: first, ledger, hash } } : { anchor };
    },
  };
}

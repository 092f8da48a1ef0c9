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

/** Other nodes than this one that may tell what it does not: none that fails, or shows no new ledgers. */
export function othersThan(rpc: Pick<Nodes, "nodes">, node: number): number[] {
  const nodes = rpc.nodes();
  return [...nodes.keys()].filter((other) =>
    other !== node && nodes[other]!.condition !== "failing" && !isLeftBehind(rpc, other)
  );
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

  /** The node in use, or where that one does not tell, as when its provider does not offer it, another one. */
  async function firstToTell(ledger: number, signal: AbortSignal): Promise<WatcherState["nextAnchor"]> {
    const inUse = nodeInUse(rpc);
    for (const node of [inUse, ...othersThan(rpc, inUse)]) {
      const hash = await hashOf(ledger, node, signal);
      // How far it is may not have been known before it answered.
      if (hash !== undefined && !isLeftBehind(rpc, node)) return { node, ledger, hash };
    }
    return undefined;
  }

  return {
    async next({ scannedLedger, anchor, nextAnchor }, signal) {
      const nowMs = clock.monotonicMs();
      if (nowMs < nextMs) return undefined;
      nextMs = nowMs + EVERY_MS;
      if (nextAnchor === undefined) {
        const said = await firstToTell(scannedLedger, signal);
        // One answer's word may be wrong, and would look like a reset later on.
        nextMs = said === undefined ? nowMs + RETRY_MS : -Infinity;
        return said && { anchor, nextAnchor: said };
      }
      const { node: first, ledger } = nextAnchor;
      const other = (first + 1) % rpc.nodes().length;
      const said = await hashOf(ledger, other, signal);
      const hash = said === undefined || isLeftBehind(rpc, other) ? await hashOf(ledger, first, signal) : said;
      if (nextAnchor.hash === hash) return { anchor: { ledger, hash } };
      nextMs = hash === undefined ? nowMs + RETRY_MS : -Infinity;
      return { anchor };
    },
  };
}

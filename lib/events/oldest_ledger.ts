import type { Clock } from "../clock.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { WatcherState } from "../store/store.ts";
import { isOfFormer } from "./former_network.ts";

/* How far back a history can be read. One answer may be wrong, and what it left out would never be read. */

/**
 * Answers the oldest ledger that any node holds which shows this one. Each is asked, and one that is alone twice. Undefined
 * while none shows it, and while one is waited for that does not, or does not answer. Rejects when none answers.
 */
export function createOldestLedger({ rpc, clock, patienceMs }: {
  rpc: Pick<NodesRpcClient, "getHealth" | "nodes">;
  clock: Pick<Clock, "monotonicMs">;
  /** How long a node is waited for. */
  patienceMs(): number;
}): (shown: number, signal: AbortSignal) => Promise<number | undefined> {
  let waitingSinceMs: number | undefined;

  return async function oldestShowing(shown, signal) {
    const nodes = rpc.nodes().length;
    const asked = Array.from({ length: Math.max(2, nodes) }, (_, at) => rpc.getHealth({ signal, node: at % nodes }));
    const answers = await Promise.allSettled(asked);
    const said = fulfilled(answers);
    if (said.length === 0) throw (answers[0] as PromiseRejectedResult).reason;
    const oldest = said.filter(({ latestLedger }) => latestLedger >= shown).map(({ oldestLedger }) => oldestLedger);
    if (oldest.length === 0) return undefined;
    const nowMs = clock.monotonicMs();
    waitingSinceMs ??= nowMs;
    if (oldest.length < asked.length && nowMs - waitingSinceMs < patienceMs()) return undefined;
    waitingSinceMs = undefined;
    return Math.max(1, Math.min(...oldest));
  };
}

/**
 * The oldest ledger of a network that was reset that any node holds: the one that was found to be of it is asked twice, others
 * count where they deny a ledger of what was read before. Rejects when that one does not answer.
 */
export async function oldestOfNew(
  rpc: Pick<NodesRpcClient, "getHealth" | "getLedgers" | "nodes">,
  { anchor, nextAnchor, latestLedgerCloseTime }: WatcherState,
  { node, signal }: { node: number; signal: AbortSignal },
): Promise<number> {
  const own = [await rpc.getHealth({ node, signal }), await rpc.getHealth({ node, signal })];
  const formerAnchor = anchor ?? nextAnchor;
  const others = formerAnchor === undefined
    ? []
    : rpc.nodes().map((_, other) => other).filter((other) => other !== node);
  const asked = others.map(async (other) => {
    const isOther = await isOfFormer(rpc, { formerAnchor }, { node: other, signal });
    return isOther ? undefined : await rpc.getHealth({ node: other, signal });
  });
  const ofNew = fulfilled(await Promise.allSettled(asked)).filter((health) =>
    (health?.latestLedgerCloseTime ?? 0) > latestLedgerCloseTime
  );
  return Math.min(...[...own, ...ofNew].map((health) => health!.oldestLedger));
}

function fulfilled<T>(answers: PromiseSettledResult<T>[]): T[] {
  return answers.flatMap((answer) => answer.status === "fulfilled" ? [answer.value] : []);
}

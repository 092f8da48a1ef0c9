import { GatewayError } from "../../errors.ts";
import type { Clock } from "../../clock.ts";
import type { RpcClient } from "../rpc/client.ts";
import { RpcError } from "../rpc/json_rpc.ts";
import { areNear } from "./judge.ts";
import type { LedgerView } from "./ledger_view.ts";

/** Later than one who polls once a second has confirmed it. */
const CONFIRM_MS = 1_500;
/** Views that are about to be confirmed. */
const confirming = new WeakSet<LedgerView>();

/** In all longer than the view takes to correct itself (`JUDGE_LIMITS.rivalMs`), and than a ledger does that a node lags. */
const PAUSES_MS = [50, 250, 1000, 2000, 3000];

export interface FreshnessParts {
  rpc: RpcClient;
  view: LedgerView;
  clock: Clock;
}

/**
 * Asks until the answer speaks of a ledger that is not older than the believed one, nor than one as of which somebody was
 * shown something: a lagging node's word is old. What speaks of a newer ledger than can be believed is asked
 * for again, for a lagging node may say so by mistake; a second such answer that is near does. At a start with a clock that disagrees
 * with the node nothing is believed for seconds, and nobody knows yet whether it lags: these are waited for.
 * @throws {GatewayError} `upstream_error` when the sixth answer lags too, or when a call fails
 */
export async function believed<T extends { latestLedger: number; error?: string }>(
  { rpc, view, clock }: FreshnessParts,
  ask: () => Promise<T>,
): Promise<T> {
  let ahead: number | undefined;
  for (let asked = 0;; asked += 1) {
    const answer = await ask().catch(rethrowUpstream);
    // A refused simulation is of ledger 0. Another answer that is has come from a node that holds no ledger yet.
    if (answer.latestLedger === 0 && answer.error !== undefined) return answer;
    const pauseMs = PAUSES_MS[asked];
    const seen = Math.max(1, view.sequence, view.shownSequence);
    const isAhead = answer.latestLedger > view.sequence;
    const isSecond = ahead !== undefined && areNear(ahead, answer.latestLedger);
    const isAwaited = isAhead && (!isSecond || isUnsettled(view)) && pauseMs !== undefined;
    ahead = isAhead ? answer.latestLedger : undefined;
    if (answer.latestLedger >= seen && !isAwaited) {
      view.hearShown(answer.latestLedger);
      void confirmSoon({ rpc, view, clock });
      return answer;
    }
    if (pauseMs === undefined) {
      throw new GatewayError(
        "upstream_error",
        `the RPC node lags: it speaks of ledger ${answer.latestLedger}, while ledger ${seen} has been seen`,
      );
    }
    await clock.wait(pauseMs);
    // It may be the view that is wrong: only an answer with a close time corrects it. A failure here changes nothing.
    await rpc.getHealth().catch(() => undefined);
  }
}

/** Whether nothing that was said since this start is believed. */
function isUnsettled(view: LedgerView): boolean {
  return view.sequence === 0 || view.timeDoubt() === "contradicted";
}

/**
 * What was shown is confirmed also where nobody else asks so soon: what waits for that is taken back for a node that lags.
 * A failure changes nothing.
 */
async function confirmSoon({ rpc, view, clock }: FreshnessParts): Promise<void> {
  if (view.confirmed.sequence >= view.sequence || confirming.has(view)) return;
  confirming.add(view);
  await clock.wait(CONFIRM_MS);
  confirming.delete(view);
  if (view.confirmed.sequence < view.sequence) await rpc.getHealth().catch(() => undefined);
}

/**
 * An error of a call to the node as callers of the gateway see it: a JSON-RPC error becomes `upstream_error`. What the node
 * says is for the log (`cause`): it may hold what only the operator should see.
 */
function upstreamError(error: unknown): unknown {
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

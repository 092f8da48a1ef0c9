import type { Clock } from "../clock.ts";
import { askForTime } from "../stellar/ledger/ledger_time.ts";
import type { LedgerView } from "../stellar/ledger/ledger_view.ts";
import type { NodesRpcClient } from "../stellar/rpc/client.ts";
import type { EventsAnswer } from "../stellar/rpc/schemas.ts";
import type { Reading, ReadPage } from "./reading.ts";

/** What all nodes together say of a page that one no longer holds. */
export type PrunedReading =
  | Reading & { kind: "page" }
  /**
   * None has answered with it; `isCertain`: every one that answers has said so twice, and `oldestLedger` is the oldest that
   * these hold; `isSilent`: not all do.
   */
  | { kind: "pruned"; oldestLedger: number; isCertain: boolean; isSilent: boolean };

/** How much later the second look comes. */
const SECOND_LOOK_MS = 2_000;

/**
 * What one node no longer holds, another may: ledgers count as lost only when every node has said so in two looks some
 * seconds apart. A node that does not answer at all, or lags, is waited for, but not for ever. One that holds nothing as old
 * as the newest ledger that is believed speaks of another network, as one does that still shows the one before a reset.
 */
export function createPruningCheck({ rpc, view, clock, read, patienceMs }: {
  rpc: Pick<NodesRpcClient, "nodes" | "getHealth" | "getLatestLedger">;
  view: Pick<LedgerView, "sequence" | "confirmed">;
  clock: Clock;
  read: (request: ReadPage) => Promise<Reading>;
  /** How long nodes that do not answer are waited for. */
  patienceMs(): number;
}): (request: ReadPage, said: { oldestLedger: number }) => Promise<PrunedReading> {
  /** The place that is in question, since when, and how often it was looked at. */
  let question: { place: string; sinceMs: number; looks: number; lookedAtMs: number } | undefined;

  /**
   * One that lags leads no further than it is itself: what it has is read when the ledgers that come next are a gap. One that
   * shows the network before a reset leads nowhere, however many ledgers that had.
   */
  function leadsOn({ latestLedger, latestLedgerCloseTime = Infinity }: EventsAnswer, oldestLedger: number): boolean {
    const { sequence, closeTime } = view.confirmed;
    return latestLedgerCloseTime >= closeTime && latestLedger >= Math.max(sequence, oldestLedger - 1);
  }

  return async function ask(request, { oldestLedger }) {
    const nowMs = clock.monotonicMs();
    const nodes = rpc.nodes().length;
    let isSilent = false;
    for (let node = 0; node < nodes && nodes > 1; node++) {
      const reading = await read({ ...request, node }).catch(() => undefined);
      if (reading?.kind === "page" && leadsOn(reading.answer, oldestLedger)) return reading;
      if (reading?.kind === "pruned") oldestLedger = Math.min(oldestLedger, reading.oldestLedger);
      else isSilent = true;
    }
    if (oldestLedger > view.sequence) {
      // Unless it is this network, far ahead: then this is how that is learnt.
      await askForTime(rpc, request);
      if (oldestLedger > view.sequence) return { kind: "pruned", oldestLedger, isCertain: false, isSilent };
    }
    const place = JSON.stringify(request.place);
    if (question?.place !== place) question = { place, sinceMs: nowMs, looks: 0, lookedAtMs: -Infinity };
    const counts = !isSilent || nowMs - question.sinceMs >= patienceMs();
    if (counts && nowMs - question.lookedAtMs >= SECOND_LOOK_MS) {
      question.looks += 1;
      question.lookedAtMs = nowMs;
    }
    const isCertain = question.looks >= 2;
    if (isCertain) question = undefined;
    return { kind: "pruned", oldestLedger, isCertain, isSilent };
  };
}

import type { Claim } from "../../../lib/stellar/ledger/belief.ts";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { fakeClock } from "../rpc/stub_rpc.ts";

export const START = 1_800_000_000;
export const TEN_YEARS = 315_360_000;

/** A view of so many nodes, and a network that closes a ledger every five seconds; the wall clock may be wrong. */
export function stage({ nodes = 1, stored, clockOff = 0, firstSequence = 1_000 }: {
  nodes?: number;
  stored?: { sequence: number; closeTime: number };
  clockOff?: number;
  firstSequence?: number;
} = {}) {
  let networkReverts = 0;
  const clock = { ...fakeClock((START + clockOff) * 1000), networkReverts: () => networkReverts };
  const view = createLedgerView({ clock, stored, nodes });
  const doubted: number[] = [];
  view.onDoubt(({ node }) => doubted.push(node));
  const truth = (lag = 0) => {
    const closed = Math.max(0, Math.floor(clock.monotonicMs() / 5_000) - lag);
    return { sequence: firstSequence + closed, closeTime: START + 5 * closed };
  };
  const hear = (claim: Partial<Claim> & { sequence: number }) => view.hear({ node: 0, ...claim });
  return {
    clock,
    view,
    doubted,
    truth,
    hear,
    /** The sandbox says that its network was taken back. */
    tellRevert: () => void networkReverts++,
    /** Lets seconds pass, in each of which every node answers the truth. */
    pass(seconds: number, lag = 0): void {
      for (let second = 0; second < seconds; second++) {
        clock.pass(1_000);
        for (let node = 0; node < nodes; node++) view.hear({ node, ...truth(lag) });
      }
    },
    isTrue(): boolean {
      return view.sequence === truth().sequence && view.closeTime === truth().closeTime;
    },
  };
}

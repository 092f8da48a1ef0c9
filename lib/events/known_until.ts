import type { Clock } from "../clock.ts";
import type { Head } from "../stellar/head.ts";

/** The time up to which the log has all events of the network. */
export interface KnownUntil {
  /** Takes the newest scanned ledger of the log. Call it after each poll. */
  scanned(ledger: number): void;
  /** Network time, Unix seconds; undefined while this process has not seen the log complete. */
  seconds(): number | undefined;
}

/**
 * The log is known up to the time at which a node showed a head that the log has reached since. A resting network counts
 * as known, a node that does not answer does not.
 */
export function createKnownUntil({ head, clock }: {
  head: Pick<Head, "sequence" | "shownAtMs" | "networkSeconds">;
  clock: Pick<Clock, "monotonicMs">;
}): KnownUntil {
  /** A head that the log has not reached yet. */
  let awaited: { sequence: number; atMs: number } | undefined;
  let knownAtMs: number | undefined;

  return {
    scanned(ledger) {
      // The head fell.
      if (awaited !== undefined && awaited.sequence > head.sequence) awaited = undefined;
      if (awaited !== undefined && ledger < awaited.sequence) return;
      if (awaited !== undefined) knownAtMs = awaited.atMs;
      const { sequence, shownAtMs } = head;
      awaited = undefined;
      if (shownAtMs === undefined) return;
      if (ledger >= sequence) knownAtMs = shownAtMs;
      else awaited = { sequence, atMs: shownAtMs };
    },
    seconds: () => knownAtMs && head.networkSeconds() - (clock.monotonicMs() - knownAtMs) / 1_000,
  };
}

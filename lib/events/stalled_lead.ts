import type { Clock } from "../clock.ts";
import { heightOf } from "../store/event.ts";
import type { WatcherState } from "../store/store.ts";

/**
 * A gateway that reads the events for several and comes no further leaves that to the others, whose node may do better.
 * It goes by what is committed: what a node shows that stands still is at its tip.
 */
export interface StalledLead {
  /** Whether the lease is left to others for now. */
  isLeft(): boolean;
  /** Told after each poll who leads and what is committed; answers whether the lease is to be given back now. */
  isToLeave(polled: { isLead: boolean; state: WatcherState | undefined }): boolean;
}

/** Longer than anything is waited for. */
const STALLED_MS = 600_000;
/** After this, or two polls, the lease is taken again if nobody else has it. */
const LEFT_MS = 5_000;

export function createStalledLead({ clock, pollMs }: { clock: Clock; pollMs: number }): StalledLead {
  /** How far the history had come when it last came further, or another gateway watched; and when that was, monotonic ms. */
  let reached = { height: 0, atMs: clock.monotonicMs() };
  let leftUntilMs = -Infinity;

  return {
    isLeft: () => clock.monotonicMs() < leftUntilMs,
    isToLeave({ isLead, state }) {
      const nowMs = clock.monotonicMs();
      const height = state === undefined ? 0 : heightOf(state.epoch, state.scannedLedger);
      if (!isLead || height !== reached.height) reached = { height, atMs: nowMs };
      if (nowMs - reached.atMs < STALLED_MS) return false;
      reached.atMs = nowMs;
      leftUntilMs = nowMs + Math.max(LEFT_MS, 2 * pollMs);
      return true;
    },
  };
}

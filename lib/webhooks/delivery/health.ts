import type { Attempt } from "../../store/webhook_store.ts";

/** How an endpoint did lately. */
export interface Health {
  /** Failures in a row. */
  failures: number;
  /** Its last answer took long, or is still awaited. */
  isSlow: boolean;
}

export const WELL: Health = { failures: 0, isSlow: false };

export function isTroubled({ failures, isSlow }: Health): boolean {
  return failures > 0 || isSlow;
}

/** How an endpoint does after this attempt; an answer that takes longer than `slowMs` is slow. */
export function healthAfter({ failures }: Health, { outcome, durationMs }: Attempt, slowMs: number): Health {
  const failed = outcome === "retry" || outcome === "dead";
  return { failures: failed ? failures + 1 : 0, isSlow: durationMs > slowMs };
}

const FIRST_BREAK_MS = 250;
const LONGEST_BREAK_MS = 5_000;

/**
 * How long an endpoint is left in peace after so many failures in a row, in milliseconds: a dead one is not hammered with
 * all that is due to it, and is found alive again within seconds.
 */
export function breakAfter(failures: number): number {
  return failures < 2 ? 0 : Math.min(LONGEST_BREAK_MS, FIRST_BREAK_MS * 2 ** Math.min(failures - 2, 10));
}

/** Remembers the endpoints in trouble from one lease to the next, the last 10 000 of them. */
export interface HealthBook {
  of(subscriptionId: string): Health;
  note(subscriptionId: string, health: Health): void;
}

const MAX_NOTED = 10_000;

export function createHealthBook(): HealthBook {
  const noted = new Map<string, Health>();
  return {
    of: (subscriptionId) => noted.get(subscriptionId) ?? WELL,
    note(subscriptionId, health) {
      noted.delete(subscriptionId);
      if (!isTroubled(health)) return;
      noted.set(subscriptionId, health);
      if (noted.size > MAX_NOTED) noted.delete(noted.keys().next().value!);
    },
  };
}

import { MAX_LEDGER } from "../../ledger_numbers.ts";
import type { Advance } from "../network_types.ts";

/** Ledgers per advance: three years at one ledger per second. */
const MAX_ADVANCE_LEDGERS = 100_000_000;

/** The ledgers of an advance. */
export interface AdvancePlan {
  /** At least one. */
  count: number;
  /** How far the clock moves, ms. */
  forMs: number;
  /** Close time of the n-th ledger, counted from 1, in Unix seconds. The last one closes at the end. */
  closeTimeOf(n: number): number;
}

/**
 * Plans the ledgers that close in a time, or the time of so many ledgers.
 *
 * @param network `paceMs` between ledgers, `nowMs` of its clock, its latest ledger
 * @throws {RangeError} for too many ledgers
 */
export function planAdvance(by: Advance, network: { paceMs: number; nowMs: number; latest: number }): AdvancePlan {
  const { paceMs, nowMs, latest } = network;
  const count = by.ledgers ?? Math.max(1, Math.floor(by.seconds * 1000 / paceMs));
  const most = Math.min(MAX_ADVANCE_LEDGERS, MAX_LEDGER - latest);
  if (count > most) throw new RangeError(`an advance must be at most ${most} ledgers; got ${count}`);
  const forMs = by.seconds === undefined ? count * paceMs : by.seconds * 1000;
  return { count, forMs, closeTimeOf: (n) => Math.floor((nowMs + forMs * (n / count)) / 1000) };
}

import { MAX_LEDGER } from "../../ledger_numbers.ts";
import type { Advance } from "../network_types.ts";

/** Ledgers that one call may advance over; at a pace of a second they are three years. */
const MAX_ADVANCE_LEDGERS = 100_000_000;

/** The ledgers that close while time passes, and when. */
export interface AdvancePlan {
  /** At least one. */
  count: number;
  /** How far the clock moves, ms. */
  forMs: number;
  /** Close time of the n-th of them, counted from 1, Unix seconds. The last one closes at the end. */
  closeTimeOf(n: number): number;
}

/**
 * As many ledgers as would close in that time, or the time that so many take.
 *
 * @param network `paceMs` between ledgers, `nowMs` of its clock, its latest ledger
 * @throws {RangeError} when there would be too many
 */
export function planAdvance(by: Advance, network: { paceMs: number; nowMs: number; latest: number }): AdvancePlan {
  const { paceMs, nowMs, latest } = network;
  const count = by.ledgers ?? Math.max(1, Math.floor(by.seconds * 1000 / paceMs));
  const most = Math.min(MAX_ADVANCE_LEDGERS, MAX_LEDGER - latest);
  if (count > most) throw new RangeError(`at most ${most} ledgers can be advanced over, not ${count}`);
  const forMs = by.seconds === undefined ? count * paceMs : by.seconds * 1000;
  return { count, forMs, closeTimeOf: (n) => Math.floor((nowMs + forMs * (n / count)) / 1000) };
}

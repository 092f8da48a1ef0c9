import { MAX_LEDGER } from "../../ledger_numbers.ts";
import type { Advance } from "../network_types.ts";

/** Ledgers per advance. */
const MAX_ADVANCE_LEDGERS = 100_000_000;

/** As on the public network: a month of the sandbox has as many ledgers as a real one, and does the same to entries. */
const SECONDS_PER_LEDGER = 5;

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
 * Plans the ledgers of a time, one for every five seconds, or the time of so many ledgers at the pace of the network.
 *
 * @param network `paceMs` between ledgers, `nowMs` of its clock, its latest ledger
 * @throws {RangeError} for too many ledgers
 */
export function planAdvance(by: Advance, network: { paceMs: number; nowMs: number; latest: number }): AdvancePlan {
  const { paceMs, nowMs, latest } = network;
  const count = by.ledgers ?? Math.max(1, Math.floor(by.seconds / SECONDS_PER_LEDGER));
  const most = Math.min(MAX_ADVANCE_LEDGERS, MAX_LEDGER - latest);
  if (count > most) throw new RangeError(`an advance must be at most ${most} ledgers; got ${count}`);
  const forMs = by.seconds !== undefined ? by.seconds * 1000 : by.keepTime === true ? 0 : count * paceMs;
  return { count, forMs, closeTimeOf: (n) => Math.floor((nowMs + forMs * (n / count)) / 1000) };
}

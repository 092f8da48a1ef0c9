import type { FootprintTerms } from "../../../lib/stellar/transactions/footprint.ts";

/** Limits and fees of a network, for tests of footprints. */
export const TERMS: FootprintTerms = {
  mostEntries: 400,
  mostWrittenEntries: 200,
  feePerWrittenEntry: 2_500n,
  feePerWrittenKb: 875n,
  feePerHistoryKb: 4_059n,
  feePerBandwidthKb: 406n,
  feePer10000Instructions: 7n,
};

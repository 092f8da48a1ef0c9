import type { Network } from "../network_types.ts";

/** Ledgers of each distribution, by the real node's defaults. */
const SOROBAN_WINDOW = 50;
const CLASSIC_WINDOW = 10;
const PERCENTILES = [10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 99] as const;

type Percentile = `p${(typeof PERCENTILES)[number]}`;
export type FeeDistribution = Record<"max" | "min" | "mode" | "transactionCount" | Percentile, string> & {
  ledgerCount: number;
};

/** `getFeeStats`: recent inclusion fees per operation, in stroops. */
export function getFeeStats(network: Network) {
  const latestLedger = network.latestLedger().sequence;
  const heldLedgers = latestLedger - network.oldestLedger().sequence + 1;
  const distribution = (fees: { ledger: number; fee: bigint }[], window: number) =>
    feeDistribution(
      fees.filter(({ ledger }) => ledger > latestLedger - window).map(({ fee }) => fee),
      Math.min(window, heldLedgers),
    );
  const { soroban, classic } = network.fees();
  return {
    sorobanInclusionFee: distribution(soroban, SOROBAN_WINDOW),
    inclusionFee: distribution(classic, CLASSIC_WINDOW),
    latestLedger,
  };
}

/** The distribution of `fees`, with nearest-rank percentiles. Without fees all values are zero, as at the real node. */
export function feeDistribution(fees: bigint[], ledgerCount: number): FeeDistribution {
  const sorted = [...fees].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const at = (index: number) => String(sorted[index] ?? 0n);
  const percentiles = PERCENTILES.map((p) => [`p${p}`, at(Math.ceil((p * sorted.length) / 100) - 1)] as const);
  return {
    max: at(sorted.length - 1),
    min: at(0),
    mode: String(mostFrequent(sorted)),
    ...(Object.fromEntries(percentiles) as Record<Percentile, string>),
    transactionCount: String(sorted.length),
    ledgerCount: sorted.length === 0 ? 0 : ledgerCount,
  };
}

/** The smallest of the most frequent values of a sorted list. */
function mostFrequent(sorted: bigint[]): bigint {
  let mode = 0n;
  let most = 0;
  let run = 0;
  for (const [index, fee] of sorted.entries()) {
    run = fee === sorted[index - 1] ? run + 1 : 1;
    if (run > most) [most, mode] = [run, fee];
  }
  return mode;
}

/*
 * Decides whether the log and the contract agree on a card, a merchant or an asset, and why they may not.
 */

import type { StoredPayment } from "../../store/payment.ts";
import { type Holdings, UNKNOWN_ASSET } from "../assets/holdings.ts";
import type { Payment } from "../decode.ts";
import type { Sums } from "./log_balances.ts";

export const SUBJECTS = ["card", "merchant", "escrow"] as const;

/**
 * Why log and contract differ.
 * - `bypass`: a movement past the gateway, in another asset than was put in or authorised.
 * - `clawback`: the issuer of the asset can take back what the contract holds.
 * - `gap`: the log has a gap, or begins after the contract.
 * - `unknown`: none of these.
 */
export const CAUSES = ["bypass", "clawback", "gap", "unknown"] as const;
export type Cause = (typeof CAUSES)[number];

/** Amounts are decimal strings of the smallest unit. */
export interface Difference {
  kind: (typeof SUBJECTS)[number];
  /** Only of a card. */
  deviceHash: string | null;
  /** Only of a merchant. */
  merchant: string | null;
  /** Null: several, or not known. */
  asset: string | null;
  /** The amount by the log. Negative: more of the asset was taken out than was put in. */
  log: string;
  /** The amount in the contract. */
  chain: string;
  cause: Cause;
}

/** Compares a card's sums with its balance in the contract, which is one number for all assets. */
export function cardDifferences(
  deviceHash: string,
  { sums, balance, isComplete }: { sums: Sums; balance: bigint; isComplete: boolean },
): Difference[] {
  const row = { kind: "card" as const, deviceHash, merchant: null };
  const log = total(sums);
  const own: Difference[] = log === balance ? [] : [{
    ...row,
    asset: onlyAsset(sums),
    log: `${log}`,
    chain: `${balance}`,
    cause: isComplete ? "unknown" : "gap",
  }];
  // Without the whole log, the missing part may have been put in before.
  if (!isComplete) return own;
  const others = overdrawn(sums);
  return [
    ...own,
    ...others.map(([asset, amount]): Difference => ({ ...row, asset, log: `-${amount}`, chain: "0", cause: "bypass" })),
  ];
}

/** The amount that was taken out of each asset beyond what was put in. An amount in an unknown asset may have been this one. */
export function overdrawn(sums: Sums): [asset: string, amount: bigint][] {
  let unknown = max(0n, sums.get(UNKNOWN_ASSET) ?? 0n);
  const found: [string, bigint][] = [];
  for (const [asset, sum] of sums) {
    if (asset === UNKNOWN_ASSET || sum >= 0n) continue;
    const left = max(0n, -sum - unknown);
    unknown = max(0n, unknown + sum);
    if (left > 0n) found.push([asset, left]);
  }
  return found;
}

/** The amounts that the contract owes a card, by asset. A payout in an asset that the card did not have reduces the others. */
export function owedTo(sums: Sums): Holdings {
  const owed = new Map([...sums].filter(([, sum]) => sum > 0n));
  let taken = [...sums.values()].reduce((all, sum) => sum < 0n ? all - sum : all, 0n);
  for (const asset of new Set([UNKNOWN_ASSET, ...owed.keys()])) {
    const had = owed.get(asset) ?? 0n;
    const left = max(0n, had - taken);
    taken -= had - left;
    if (left === 0n) owed.delete(asset);
    else owed.set(asset, left);
  }
  return owed;
}

/** A payment that no claim has taken, as of the ledger of the comparison. */
export type OpenPayment = Pick<
  StoredPayment,
  "state" | "deviceHash" | "amount" | "asset" | "authorizedAt" | "expiresAtLedger"
>;

/**
 * Compares the open payments of a merchant with its living entries. The log may not know yet that somebody extended an
 * entry, or whether a payment of state `unknown` still exists. Then the entry decides.
 */
export function merchantDifference(
  merchant: string,
  { open, entries, ledger, isComplete }: {
    open: readonly OpenPayment[];
    entries: readonly Payment[];
    ledger: number;
    isComplete: boolean;
  },
): Difference | undefined {
  const nameOf = (deviceHash: string, amount: string, at: number) => `${deviceHash} ${amount} ${at}`;
  const left = new Map<string, number>();
  for (const { deviceHash, amount, timestamp } of entries) {
    const name = nameOf(deviceHash, `${amount}`, Number(timestamp));
    left.set(name, (left.get(name) ?? 0) + 1);
  }
  const living = open.filter((payment) => {
    const name = nameOf(payment.deviceHash, payment.amount, payment.authorizedAt);
    const found = left.get(name) ?? 0;
    if (found > 0) left.set(name, found - 1);
    return found > 0 || isOwed(payment, ledger);
  });
  const log = living.reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  const chain = entries.reduce((sum, { amount }) => sum + amount, 0n);
  if (log === chain) return undefined;
  const asset = onlyAsset(new Map(living.map(({ asset = UNKNOWN_ASSET }) => [asset, 1n])));
  const cause = isComplete ? "unknown" : "gap";
  return { kind: "merchant", deviceHash: null, merchant, asset, log: `${log}`, chain: `${chain}`, cause };
}

/** Whether the contract owes a payment in this ledger, by the log. */
export function isOwed({ state, expiresAtLedger }: OpenPayment, ledger: number): boolean {
  return state !== "unknown" && expiresAtLedger >= ledger;
}

/** Compares what the escrow holds of an asset with what it owes. More is no difference. */
export function escrowDifference(
  asset: string,
  { owed, held, paidPast, canClawBack, isComplete }: {
    owed: bigint;
    held: bigint;
    /** The most that was paid out in this asset for others. */
    paidPast: bigint;
    canClawBack: boolean;
    isComplete: boolean;
  },
): Difference | undefined {
  if (held >= owed) return undefined;
  const known = paidPast >= owed - held ? "bypass" : canClawBack ? "clawback" : "unknown";
  const cause = isComplete ? known : "gap";
  return { kind: "escrow", deviceHash: null, merchant: null, asset, log: `${owed}`, chain: `${held}`, cause };
}

function total(sums: Sums): bigint {
  return [...sums.values()].reduce((all, sum) => all + sum, 0n);
}

/** The only asset of sums that are not zero; null for several, and for an unknown one. */
function onlyAsset(sums: Sums): string | null {
  const all = [...sums].filter(([, sum]) => sum !== 0n).map(([asset]) => asset);
  return all.length === 1 && all[0] !== UNKNOWN_ASSET ? all[0]! : null;
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/*
 * Compares the log with the contracts: each card and each merchant with its entries, and the escrow's balances with what it
 * owes. Each answer of the node is compared with the log up to the answer's ledger.
 */

import { type Clock, isoSeconds } from "../../clock.ts";
import type { EntryReader } from "../../stellar/entries.ts";
import type { HeldReader } from "../assets/held.ts";
import { UNKNOWN_ASSET } from "../assets/holdings.ts";
import { asI128 } from "../decode.ts";
import type { EntrySource } from "../reads/reads_by_entries.ts";
import { balanceKey } from "../reads/storage_keys.ts";
import { createMerchantComparison, KEYS_PER_CALL, valueOf } from "./compare_merchants.ts";
import { cardDifferences, type Difference, escrowDifference, isOwed, overdrawn, owedTo } from "./differences.ts";
import { type FollowedLog, type FollowedLogParts, followLog } from "./followed_log.ts";
import { openPayments } from "./open_payments.ts";

export interface ReconcileParts extends FollowedLogParts {
  /** The accepted assets. Undefined: the first assets of the log. */
  assets: readonly string[] | undefined;
  entries: Pick<EntryReader, "read">;
  pending: EntrySource["pending"];
  held: HeldReader;
  clock: Pick<Clock, "now" | "monotonicMs" | "wait">;
  /** Called when differences wait up to three minutes for late events. */
  onWait?(differences: number): void;
}

export interface Reconciliation {
  epoch: number;
  /** The ledgers of the log that were compared. */
  fromLedger: number;
  toLedger: number;
  /** ISO 8601 UTC. */
  checkedAt: string;
  differences: Difference[];
}

/**
 * Makes one call of the node for the escrow's balances, one for 200 cards, and one for 200 merchants and open payments. Memory
 * is for cards and merchants, not for movements.
 * @throws {GatewayError} `unavailable` when the log is empty or does not follow the node, `upstream_error` when the node fails
 */
export async function reconcile(parts: ReconcileParts): Promise<Reconciliation> {
  const log = await followLog(parts);
  const compareMerchants = createMerchantComparison({ ...parts, payments: parts.store.payments, log });

  async function compare(cards: readonly string[], merchants: readonly string[]): Promise<Difference[]> {
    const { found, isComplete } = await compareEscrow(parts, log);
    return [
      ...found,
      ...await compareCards(cards, { ...parts, log, isComplete }),
      ...await compareMerchants(merchants, isComplete),
    ];
  }

  let differences = await compare([...log.balances.cards.keys()], [...log.balances.merchants.keys()]);
  const doubtful = differences.filter(isDoubtful);
  if (doubtful.length > 0) {
    parts.onWait?.(doubtful.length);
    if (await log.settled()) {
      const cards = doubtful.flatMap(({ deviceHash }) => deviceHash ?? []);
      const again = await compare(cards, doubtful.flatMap(({ merchant }) => merchant ?? []));
      differences = [...differences.filter((one) => !isDoubtful(one)), ...again.filter(isDoubtful)];
    }
  }
  const { epoch, fromLedger, toLedger } = log;
  return { epoch, fromLedger, toLedger, checkedAt: isoSeconds(parts.clock.now()), differences };
}

/** A node may show an event late. Then this difference is gone once the ledger is settled. */
function isDoubtful({ cause }: Difference): boolean {
  return cause === "unknown" || cause === "clawback";
}

async function compareEscrow(parts: ReconcileParts, log: FollowedLog) {
  const { balances: { cards, merchants, assets, paidForOthers }, epoch } = log;
  const ids = parts.assets ?? [...assets];
  const { ledger, instance, held } = await log.answered(() => parts.held(ids));
  const isComplete = await log.isComplete(instance?.lastModifiedLedgerSeq);
  const owed = new Map<string, bigint>();
  const paidPast = new Map(paidForOthers);
  for (const sums of cards.values()) {
    for (const [asset, amount] of owedTo(sums)) add(owed, asset, amount);
    for (const [asset, amount] of overdrawn(sums)) add(paidPast, asset, amount);
  }
  const { store, paymentEscrow } = parts;
  for (const merchant of merchants.keys()) {
    for (const payment of await openPayments(store.payments, merchant, { paymentEscrow, epoch, ledger })) {
      if (isOwed(payment, ledger)) add(owed, payment.asset ?? UNKNOWN_ASSET, BigInt(payment.amount));
    }
  }
  const found = ids.map((asset, at) => {
    const { amount, clawback: canClawBack } = held[at]!;
    if (amount === null) return undefined;
    const of = { owed: owed.get(asset) ?? 0n, held: amount, paidPast: paidPast.get(asset) ?? 0n };
    return escrowDifference(asset, { ...of, canClawBack, isComplete });
  });
  return { found: found.filter((one) => one !== undefined), isComplete };
}

async function compareCards(
  cards: readonly string[],
  { paymentEscrow, entries, log, isComplete }: ReconcileParts & { log: FollowedLog; isComplete: boolean },
): Promise<Difference[]> {
  const found: Difference[] = [];
  for (let at = 0; at < cards.length; at += KEYS_PER_CALL) {
    const page = cards.slice(at, at + KEYS_PER_CALL);
    const answer = await log.answered(() => entries.read(page.map((card) => balanceKey(paymentEscrow, card))));
    page.forEach((card, index) => {
      const balance = valueOf(answer.entries[index], asI128) ?? 0n;
      found.push(...cardDifferences(card, { sums: log.balances.cards.get(card)!, balance, isComplete }));
    });
  }
  return found;
}

function add(sums: Map<string, bigint>, asset: string, amount: bigint): void {
  sums.set(asset, (sums.get(asset) ?? 0n) + amount);
}

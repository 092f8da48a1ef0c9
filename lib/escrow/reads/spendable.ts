import type { EscrowLog } from "../assets/escrow_log.ts";
import { heldAtMost } from "../assets/holdings.ts";
import type { HeldAnswers } from "./held_answers.ts";
import type { AsOf, Card } from "./read_source.ts";

/** The most that a card can pay in an asset out of what its escrow holds; all of it as far as nothing else is known. */
export type Spendable = (deviceHash: string, asset: string, card: AsOf<Card>) => bigint | Promise<bigint>;

/** Looks into the log once a ledger for each card and asset. */
export function createSpendable({ log, answers }: {
  log: Pick<EscrowLog, "mayHoldOthers" | "holdings">;
  answers: HeldAnswers<bigint>;
}): Spendable {
  return (deviceHash, asset, { ledger, value: { balance } }) =>
    answers.get(`${deviceHash} ${asset}`, async () => {
      const isMixed = await log.mayHoldOthers(deviceHash, asset);
      return { ledger, value: isMixed ? heldAtMost(await log.holdings(deviceHash, balance), asset) : balance };
    });
}

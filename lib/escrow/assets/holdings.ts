import type { NewEvent } from "../../store/event.ts";

/**
 * The assets in a card's escrow. The contract keeps one number for all assets. The events since the escrow was last empty
 * show the amount of each.
 */

/** The amount of each asset by its contract, never 0. `UNKNOWN_ASSET` has the amount whose asset the log does not know. */
export type Holdings = ReadonlyMap<string, bigint>;

export const UNKNOWN_ASSET = "";

/** The events that change an escrow's balance. */
export const ESCROW_MOVEMENTS = ["escrow.funded", "escrow.defunded", "escrow.swept", "payment.authorized"];

export type EscrowMovement = Pick<NewEvent, "type" | "asset" | "amount">;

/**
 * The holdings after one movement, and how much it took out of other assets than its own. A withdrawal takes from its own
 * asset first, then from the unknown asset, then from the others. So the sum stays the contract's balance.
 */
export function afterMovement(before: Holdings, movement: EscrowMovement): { holdings: Holdings; foreign: bigint } {
  const { type, asset = UNKNOWN_ASSET, amount = "0" } = movement;
  const holdings = new Map(before);
  let left = BigInt(amount);
  if (type === "escrow.funded") {
    return { holdings: holdings.set(asset, (before.get(asset) ?? 0n) + left), foreign: 0n };
  }
  let foreign = 0n;
  for (const from of new Set([asset, UNKNOWN_ASSET, ...before.keys()])) {
    const held = before.get(from) ?? 0n;
    const taken = held < left ? held : left;
    left -= taken;
    if (taken === held) holdings.delete(from);
    else holdings.set(from, held - taken);
    if (asset !== UNKNOWN_ASSET && from !== asset && from !== UNKNOWN_ASSET) foreign += taken;
  }
  // A sweep empties the escrow, even where earlier movements are unknown.
  return { holdings: type === "escrow.swept" ? new Map() : holdings, foreign };
}

/**
 * The holdings that make up a balance, by the card's movements, the newest first. Goes back to when the escrow was empty, or
 * to the oldest movement. Undefined when the movements do not add up to the balance.
 * @param earlier the asset of the balance before all of them
 */
export function holdingsOf(
  balance: bigint,
  newestFirst: Iterable<EscrowMovement>,
  earlier = UNKNOWN_ASSET,
): Holdings | undefined {
  const since: EscrowMovement[] = [];
  let left = balance;
  for (const movement of newestFirst) {
    if (left === 0n) break;
    const amount = BigInt(movement.amount ?? "0");
    left += movement.type === "escrow.funded" ? -amount : amount;
    if (left < 0n) return undefined;
    since.unshift(movement);
  }
  const begin: Holdings = new Map(left === 0n ? [] : [[earlier, left]]);
  return since.reduce((holdings, movement) => afterMovement(holdings, movement).holdings, begin);
}

/** The known holdings in other assets than this one. */
export function heldInOthers(holdings: Holdings, asset: string): [asset: string, amount: bigint][] {
  return [...holdings].filter(([held]) => held !== asset && held !== UNKNOWN_ASSET);
}

/** The most that can be of this asset: its known amount and the unknown amount. */
export function heldAtMost(holdings: Holdings, asset: string): bigint {
  return (holdings.get(asset) ?? 0n) + (holdings.get(UNKNOWN_ASSET) ?? 0n);
}

import type { EscrowReads } from "../reads/reads.ts";
import type { Operation } from "./operations.ts";

/**
 * Says who gives a card up what goes with it: the device registry forgets the owner, the escrow contract keeps the money, and
 * whoever registers the card next is its owner. Undefined for other operations, and where there is nothing to say or it can't
 * be told. It is no refusal: anybody can put a unit into the escrow of a card, of an asset that nobody can take out.
 */
export function createCardWarnings(
  { reads }: { reads: Pick<EscrowReads, "card"> },
): (operation: Operation) => Promise<string | undefined> {
  async function ofCard(deviceHash: string): Promise<string | undefined> {
    const { value: { balance, policy } } = await reads.card(deviceHash);
    if (balance <= 0n) return undefined;
    const spent = policy === undefined ? "" : `, and its agent ${policy.agent} can go on paying with it`;
    return `the card's escrow still holds ${balance}: anybody can register the card then, and take that out${spent}; ` +
      "revokeAgent and sweepEscrow come first";
  }

  return async function warning(operation) {
    return operation.kind === "revokeDevice" ? await ofCard(operation.deviceHash).catch(() => undefined) : undefined;
  };
}

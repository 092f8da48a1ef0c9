import type { EscrowReads } from "../reads/reads.ts";
import type { Operation } from "./operations.ts";

/**
 * Says who gives a card up what goes with it: the device registry forgets the owner, the escrow contract keeps the money, and
 * whoever registers the card next is its owner. And says who registers one whose agent is there already, as one that was
 * given up keeps its agent, and anybody can register one for a card that nobody owns. Undefined for other operations, and
 * where there is nothing to say or it can't be told. It is no refusal: anybody can put a unit into the escrow of a card, of an
 * asset that nobody can take out, and only who owns a card can have its agent revoked.
 */
export function createCardWarnings(
  { reads }: { reads: Pick<EscrowReads, "card"> },
): (operation: Operation) => Promise<string | undefined> {
  async function ofGivenUp({ deviceHash }: { deviceHash: string }): Promise<string | undefined> {
    const { value: { balance, policy } } = await reads.card(deviceHash);
    if (balance <= 0n) return undefined;
    const spent = policy === undefined ? "" : `, and its agent ${policy.agent} can go on paying with it`;
    return `the card's escrow still holds ${balance}: anybody can register the card then, and take that out${spent}; ` +
      "revokeAgent and sweepEscrow come first";
  }

  async function ofTakenOver(
    { deviceHash, agent }: { deviceHash: string; agent: string },
  ): Promise<string | undefined> {
    const { value: { policy } } = await reads.card(deviceHash);
    if (policy === undefined || policy.agent === agent) return undefined;
    return `the card has an agent already, ${policy.agent}, who can pay with what its escrow is funded with: revokeAgent comes ` +
      "before fundEscrow";
  }

  return async function warning(operation) {
    if (operation.kind === "revokeDevice") return await ofGivenUp(operation).catch(() => undefined);
    return operation.kind === "registerDevice" ? await ofTakenOver(operation).catch(() => undefined) : undefined;
  };
}

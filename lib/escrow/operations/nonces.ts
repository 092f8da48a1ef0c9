import type { Clock } from "../../clock.ts";
import { VALID_FOR_SECONDS } from "../../stellar/transactions/prepare.ts";
import type { Store } from "../../store/store.ts";
import type { EscrowReads } from "../reads/reads.ts";
import { NONCE_SLACK_MS } from "./prepare_operation.ts";

type SharedState = Pick<Store["sharedState"], "change">;

/** The greatest u64, which is the contract's type for nonces. */
const MAX_NONCE = 18_446_744_073_709_551_615n;

/** The nonces of payments: each is above the card's last one for this agent, and no valid envelope has it. */
export function createNonces({ reads, clock, sharedState }: {
  reads: Pick<EscrowReads, "wayOfCards" | "lastNonce">;
  clock: Pick<Clock, "now">;
  sharedState: SharedState;
}): (deviceHash: string, agent: string) => Promise<string> {
  return async function nextNonce(deviceHash, agent) {
    // The contract has no getter for nonces. If the storage cannot be read, microseconds of the clock ascend as well.
    const used = await reads.wayOfCards(deviceHash) === "calls"
      ? BigInt(clock.now()) * 1000n
      : await reads.lastNonce(deviceHash, agent) ?? 0n;
    return await issueNonce(sharedState, { deviceHash, agent, used }, VALID_FOR_SECONDS * 1000 + NONCE_SLACK_MS);
  };
}

/**
 * Issues the next nonce of an agent for a device, a decimal string of at most 64 bits. It is above `used`, and above every
 * nonce issued for them in the last `validForMs`, by any gateway of the store. Durable when it resolves.
 */
export async function issueNonce(
  sharedState: SharedState,
  { deviceHash, agent, used }: { deviceHash: string; agent: string; used: bigint },
  validForMs: number,
): Promise<string> {
  return await sharedState.change(`nonce/${deviceHash}/${agent}`, (issued: string | undefined) => {
    const highest = issued !== undefined && BigInt(issued) > used ? BigInt(issued) : used;
    const nonce = (highest + 1n < MAX_NONCE ? highest + 1n : MAX_NONCE).toString();
    return { value: nonce, keepMs: validForMs, answer: nonce };
  });
}

import type { Store } from "./store.ts";

/** The greatest u64, which is the contract's type for nonces. */
const MAX_NONCE = 18_446_744_073_709_551_615n;

/**
 * Returns the next nonce of an agent for a device, a decimal string. It is above `used`, the last one that the contract has
 * seen, and above every nonce issued for them in the last `validForMs`. It never exceeds 64 bits. Two calls never get the
 * same nonce while both may be used. Durable when it resolves.
 */
export async function nextNonce(
  { sharedState }: Pick<Store, "sharedState">,
  { deviceHash, agent, used, validForMs }: { deviceHash: string; agent: string; used: string; validForMs: number },
): Promise<string> {
  return await sharedState.change(`nonce/${deviceHash}/${agent}`, (issued: string | undefined) => {
    const highest = issued !== undefined && BigInt(issued) > BigInt(used) ? issued : used;
    const next = BigInt(highest) + 1n;
    const nonce = (next < MAX_NONCE ? next : MAX_NONCE).toString();
    return { value: nonce, keepMs: validForMs, answer: nonce };
  });
}

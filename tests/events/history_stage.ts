import { GatewayError } from "../../lib/errors.ts";
import { createFixture, hashesOf, simulate } from "./parts.ts";

export const DEVICE = "ab".repeat(32);
export const OTHER_DEVICE = "cd".repeat(32);
export const MERCHANT = "GBZH7S5NC57XNHKHJ75C5DGMI3SP6ZFJLIKW74K6OSMA5E5DFMYBDD2Z";

/** Ten ledgers with two events each, all of them read. */
export async function createRead() {
  const { network, node } = simulate();
  for (let ledger = 0; ledger < 10; ledger++) {
    network.close({ type: "escrow.funded", deviceHash: DEVICE }, {
      type: "payment.authorized",
      deviceHash: ledger % 2 === 0 ? DEVICE : OTHER_DEVICE,
      merchant: MERCHANT,
    });
  }
  const fixture = await createFixture(network, { nodes: [node] });
  await fixture.turn();
  return { ...fixture, hashes: hashesOf(network.emitted) };
}

/** For `assert.rejects`: refused as a wrong request, in these words. */
export const refusedWith = (message: RegExp) => (error: unknown) =>
  error instanceof GatewayError && error.code === "invalid_request" && message.test(error.message);

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { Buffer } from "node:buffer";
import { StrKey, xdr } from "@stellar/stellar-sdk";
import { createAssetReader } from "../../../lib/escrow/reads/asset_info.ts";

const ASSET = StrKey.encodeContract(Buffer.alloc(32, 7));

/** The name that the gateway returns for a token with this name. */
async function symbolOf(said: string | Buffer): Promise<string> {
  const text = xdr.ScVal.scvString(said);
  const read = createAssetReader({
    simulate: ({ function: getter }) =>
      Promise.resolve({
        latestLedger: 1,
        results: [{ xdr: (getter === "decimals" ? xdr.ScVal.scvU32(7) : text).toXdr("base64") }],
      }),
  });
  return (await read(ASSET)).symbol;
}

test("a long name is cut between characters, because many JSON parsers reject half of one", async () => {
  assert.equal(await symbolOf("x" + "💰".repeat(80)), "x" + "💰".repeat(63));
});

test("a name with invalid UTF-8 is shown as text", async () => {
  assert.equal(await symbolOf(Buffer.from([0x55, 0xff, 0x53])), "U\ufffdS");
});

// needs: neutral
import { xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { createTokenCheck } from "../../lib/escrow/reads/asset_info.ts";
import { createAssetReader } from "../../lib/escrow/reads/asset_info.ts";
import { addressVal } from "../../lib/escrow/reads/storage_keys.ts";
import type { RawSimulation } from "../../lib/stellar/rpc/schemas.ts";

const TOKEN = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM";

/** A token of somebody's own: a contract with code, not the protocol's. */
function instanceOf(contract: string) {
  const address = addressVal(contract);
  if (address.type !== "scvAddress") throw new TypeError("no address");
  const instance = new xdr.ScContractInstance({
    executable: xdr.ContractExecutable.contractExecutableWasm("ab".repeat(32)),
    storage: null,
  });
  const entry = new xdr.ContractDataEntry({
    ext: xdr.ExtensionPoint.v0(),
    contract: address.address,
    key: xdr.ScVal.scvLedgerKeyContractInstance(),
    durability: xdr.ContractDataDurability.persistent,
    val: xdr.ScVal.scvContractInstance(instance),
  });
  const data = xdr.LedgerEntryData.contractData(entry).toXdr("base64");
  return { key: "", xdr: data, lastModifiedLedgerSeq: 1 };
}

/** A node that answers every simulation with this error. */
const failing = (error: string) => ({ simulate: () => Promise.resolve<RawSimulation>({ latestLedger: 9, error }) });
const isUpstream = (error: unknown) => error instanceof GatewayError && error.code === "upstream_error";

/** As stellar-rpc says it of itself, in `result.error` of an answer with HTTP 200. */
const OWN_TROUBLES = [
  "preflight queue full",
  "context deadline exceeded",
  "could not get latest ledger: database is locked",
];
/** The error of a contract that is no token. */
const NO_TOKEN = "HostError: Error(WasmVm, MissingValue)\n\nEvent log (newest first): …";

describe("a node whose simulation fails by its own error", () => {
  test("does not make an asset unknown", async () => {
    for (const trouble of OWN_TROUBLES) {
      await assert.rejects(createAssetReader(failing(trouble))(TOKEN), isUpstream, trouble);
    }
    await assert.rejects(createAssetReader(failing(NO_TOKEN))(TOKEN), { code: "not_found" });
  });

  test("does not make a token invalid", async () => {
    const instance = instanceOf(TOKEN);
    for (const trouble of OWN_TROUBLES) {
      await assert.rejects(createTokenCheck(failing(trouble))(TOKEN, instance), isUpstream, trouble);
    }
    assert.equal(await createTokenCheck(failing(NO_TOKEN))(TOKEN, instance), false);
  });
});

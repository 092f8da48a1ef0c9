// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { type SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import { bytes, refusal, submit } from "./sandbox_network.ts";
import { alteredRegistration, codeKeys, type ContractNetwork, hashOf, startContractNetwork } from "./soroban_parts.ts";

const resources = (builder: SorobanDataBuilder) => builder.build().resources;
const accountKeys = (count: number) =>
  Array.from({ length: count }, (_, i) => {
    const accountId = xdr.PublicKey.publicKeyTypeEd25519(hashOf(`account ${i}`));
    return xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId }));
  });
const longKey = () =>
  xdr.LedgerKey.contractData(
    new xdr.LedgerKeyContractData({
      contract: xdr.ScAddress.scAddressTypeContract(new xdr.ContractId(hashOf("contract"))),
      key: bytes(new Uint8Array(300)),
      durability: xdr.ContractDataDurability.persistent,
    }),
  );

describe("a Soroban envelope is refused", () => {
  let on: ContractNetwork;
  before(async () => {
    on = await startContractNetwork();
  });

  const limits: [string, (data: SorobanDataBuilder) => void, RegExp][] = [
    [
      "more instructions than a transaction may use",
      (data) => data.setResources(400_000_001, resources(data).diskReadBytes, resources(data).writeBytes),
      /instructions resources exceed/,
    ],
    ["more bytes to read", (data) => data.setResources(resources(data).instructions, 200_001, 0), /byte-read/],
    ["more bytes to write", (data) => data.setResources(resources(data).instructions, 0, 132_097), /byte-write/],
    ["a footprint of too many entries", (data) => data.setReadOnly(codeKeys(401)), /entries in transaction footprint/],
    ["too many entries to write", (data) => data.setReadWrite(codeKeys(201)), /entry-write/],
    ["too many classic entries to read", (data) => data.setReadOnly(accountKeys(201)), /entry-disk-read/],
    [
      "the same key twice",
      (data) => data.setReadOnly([...data.getReadOnly(), data.getReadOnly()[0]!]),
      /duplicate key/,
    ],
    [
      "a key both to read and to write",
      (data) => data.setReadOnly([...data.getReadOnly(), data.getReadWrite()[0]!]),
      /duplicate key/,
    ],
    [
      "a key of a kind contracts cannot see",
      (data) => data.setReadOnly([xdr.LedgerKey.ttl(new xdr.LedgerKeyTtl({ keyHash: hashOf("entry") }))]),
      /unsupported ledger key type/,
    ],
    ["a key that is too long", (data) => data.setReadOnly([longKey()]), /footprint key exceeds/],
  ];
  for (const [what, change, reason] of limits) {
    test(`with ${what}: txSorobanInvalid`, () => {
      const outcome = submit(on.network, alteredRegistration(on, { data: change }));
      assert.equal(refusal(outcome), "txSorobanInvalid");
      assert.ok(outcome.status === "ERROR");
      const { data } = xdr.DiagnosticEvent.fromXdr(outcome.diagnosticEventsXdr[0]!).event.body.v0;
      assert.match(JSON.stringify(data.toJson()), reason);
    });
  }
});

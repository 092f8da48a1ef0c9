// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { Keypair, nativeToScVal, xdr } from "@stellar/stellar-sdk";
import { sliceContractEvent } from "../../../lib/sandbox/ledger/event_slices.ts";

const hash = fc.uint8Array({ minLength: 32, maxLength: 32 });
const INTEGER_BITS = [32, 64, 128, 256] as const;
const integers = INTEGER_BITS.flatMap((bits) => {
  const [half, whole] = [1n << BigInt(bits - 1), 1n << BigInt(bits)];
  return [
    fc.bigInt({ min: 0n, max: whole - 1n }).map((value) => nativeToScVal(value, { type: `u${bits}` })),
    fc.bigInt({ min: -half, max: half - 1n }).map((value) => nativeToScVal(value, { type: `i${bits}` })),
  ];
});

const scAddress = fc.oneof(
  hash.map((bytes) => xdr.ScAddress.scAddressTypeAccount(Keypair.fromRawEd25519Seed(bytes).xdrAccountId())),
  hash.map((bytes) => xdr.ScAddress.scAddressTypeContract(new xdr.ContractId(bytes))),
  hash.map((bytes) => xdr.ScAddress.scAddressTypeMuxedAccount(new xdr.MuxedEd25519Account({ id: 7n, ed25519: bytes }))),
  hash.map((bytes) =>
    xdr.ScAddress.scAddressTypeClaimableBalance(xdr.ClaimableBalanceId.claimableBalanceIdTypeV0(bytes))
  ),
  hash.map((bytes) => xdr.ScAddress.scAddressTypeLiquidityPool(new xdr.PoolId(bytes))),
);

const leaf = fc.oneof(
  fc.boolean().map((value) => xdr.ScVal.scvBool(value)),
  fc.constant(xdr.ScVal.scvVoid()),
  fc.nat().map((code) => xdr.ScVal.scvError(xdr.ScError.sceContract(code))),
  fc.constant(xdr.ScVal.scvError(xdr.ScError.sceBudget(xdr.ScErrorCode.scecExceededLimit))),
  ...integers,
  fc.bigInt({ min: 0n, max: 1n << 60n }).map((value) => xdr.ScVal.scvTimepoint(value)),
  fc.bigInt({ min: 0n, max: 1n << 60n }).map((value) => xdr.ScVal.scvDuration(value)),
  fc.uint8Array({ maxLength: 40 }).map((bytes) => xdr.ScVal.scvBytes(bytes)),
  fc.string({ maxLength: 40 }).map((text) => xdr.ScVal.scvString(text)),
  fc.constantFrom("a", "transfer", "sym_bol").map((text) => xdr.ScVal.scvSymbol(text)),
  scAddress.map((address) => xdr.ScVal.scvAddress(address)),
  fc.constant(xdr.ScVal.scvLedgerKeyContractInstance()),
  fc.constant(xdr.ScVal.scvLedgerKeyNonce(new xdr.ScNonceKey({ nonce: 3n }))),
  hash.map((bytes) => {
    const executable = xdr.ContractExecutable.contractExecutableWasm(bytes);
    return xdr.ScVal.scvContractInstance(new xdr.ScContractInstance({ executable, storage: null }));
  }),
  fc.constant(
    xdr.ScVal.scvContractInstance(
      new xdr.ScContractInstance({
        executable: xdr.ContractExecutable.contractExecutableStellarAsset(),
        storage: [new xdr.ScMapEntry({ key: xdr.ScVal.scvVoid(), val: xdr.ScVal.scvBool(true) })],
      }),
    ),
  ),
);

const scVal = fc.letrec<{ value: xdr.ScVal }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf,
    fc.array(tie("value"), { maxLength: 3 }).map((values) => xdr.ScVal.scvVec(values)),
    fc.array(fc.tuple(tie("value"), tie("value")), { maxLength: 3 }).map((pairs) =>
      xdr.ScVal.scvMap(pairs.map(([key, val]) => new xdr.ScMapEntry({ key, val })))
    ),
  ),
})).value;

describe("sliceContractEvent", () => {
  test("returns the parts of an event that the SDK encoded, for values of every type", () => {
    const { contract: ofContract, system, diagnostic } = xdr.ContractEventType;
    const type = fc.constantFrom(ofContract, system, diagnostic);
    const topics = fc.array(scVal, { maxLength: 4 });
    const parts = fc.record({ contract: fc.option(hash), type, topics, data: scVal });
    fc.assert(fc.property(parts, ({ contract, type, topics, data }) => {
      const event = new xdr.ContractEvent({
        ext: xdr.ExtensionPoint.v0(),
        contractId: contract && new xdr.ContractId(contract),
        type,
        body: xdr.ContractEventBody.v0(new xdr.ContractEventV0({ topics, data })),
      });
      const slices = sliceContractEvent(event.toXdr());
      assert.equal(slices.type, type.name);
      assert.deepEqual(slices.contractId, contract ?? undefined);
      assert.deepEqual(slices.topicsXdr, topics.map((topic) => topic.toXdr()));
      assert.deepEqual(slices.valueXdr, data.toXdr());
    }));
  });

  test("throws a RangeError for bytes that are not an event", () => {
    assert.throws(() => sliceContractEvent(new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9])), RangeError);
    assert.throws(() => sliceContractEvent(new Uint8Array(6)), RangeError);
  });
});

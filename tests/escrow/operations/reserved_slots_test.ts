// needs: neutral
import { Address, SorobanDataBuilder, StrKey, xdr } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createMerchantEnvelopes,
  type SharedMerchantEnvelopes,
} from "../../../lib/escrow/operations/merchant_envelopes.ts";
import { createReservedSlots } from "../../../lib/escrow/operations/reserved_slots.ts";
import { pendingIndexKey, pendingPaymentKey } from "../../../lib/escrow/reads/storage_keys.ts";
import type { RawSimulation } from "../../../lib/stellar/rpc/schemas.ts";
import { TERMS } from "../../stellar/transactions/footprint_terms.ts";

const ESCROW = StrKey.encodeContract(new Uint8Array(32).fill(3));
const ASSET = StrKey.encodeContract(new Uint8Array(32).fill(4));
const [MERCHANT, PAYER, OTHER] = [1, 2, 5].map((fill) => StrKey.encodeEd25519PublicKey(new Uint8Array(32).fill(fill)));
const paymentKey = (index: number) => pendingPaymentKey(ESCROW, MERCHANT!, index);

function stage(sharedEnvelopes?: SharedMerchantEnvelopes) {
  const problems: string[] = [];
  const envelopes = createMerchantEnvelopes({ now: () => 0, validForMs: 300_000 });
  const terms = { read: () => Promise.resolve(TERMS) };
  return {
    ...createReservedSlots({
      paymentEscrow: ESCROW,
      terms,
      envelopes,
      sharedEnvelopes,
      onProblem: (one) => problems.push(one),
    }),
    problems,
  };
}

const authorize = {
  kind: "authorize" as const,
  deviceHash: "ab".repeat(32),
  merchant: MERCHANT!,
  asset: ASSET,
  amount: "1",
};

/** An entry of the escrow as a simulation says it would leave it. */
function left(key: string, val: xdr.ScVal) {
  const data = xdr.LedgerEntryData.contractData(
    new xdr.ContractDataEntry({
      ext: xdr.ExtensionPoint.v0(),
      contract: Address.fromString(ESCROW).toScAddress(),
      key: xdr.ScVal.scvVoid(),
      durability: xdr.ContractDataDurability.temporary,
      val,
    }),
  );
  const entry = new xdr.LedgerEntry({ lastModifiedLedgerSeq: 1, data, ext: xdr.LedgerEntryExt.v0() });
  return { type: "updated", key, before: null, after: entry.toXdr("base64") };
}

function simulation(footprint: string[], stateChanges?: unknown[]): RawSimulation {
  const keys = footprint.map((key) => xdr.LedgerKey.fromXdr(key, "base64"));
  return {
    latestLedger: 1,
    transactionData: new SorobanDataBuilder().setReadWrite(keys).build().toXdr("base64"),
    stateChanges,
  };
}

function written(transactionData: string): string[] {
  const { footprint } = xdr.SorobanTransactionData.fromXdr(transactionData, "base64").resources;
  return footprint.readWrite.map((key) => key.toXdr("base64"));
}

describe("reserved slots", () => {
  const indexKey = pendingIndexKey(ESCROW, MERCHANT!);
  for (const first of [0, 1]) {
    test(`is made in a contract that counts its payments from ${first}`, async () => {
      const { enter } = stage();
      enter(OTHER!, authorize);
      // The seventh payment since the last claim.
      const own = first + 6;
      const place = enter(PAYER!, authorize)!;
      const changes = [left(indexKey, xdr.ScVal.scvU32(7)), left(paymentKey(own), xdr.ScVal.scvBool(true))];
      const widened = await place.widen(simulation([indexKey, paymentKey(own)], changes));
      const reserved = [own + 1, first, first + 1].map(paymentKey);
      assert.deepEqual(written(widened), [indexKey, paymentKey(own), ...reserved]);
    });
  }

  test("are for the envelopes of all gateways, or of this one alone when the store fails", async () => {
    for (const isAway of [false, true]) {
      const answer = () => isAway ? Promise.reject(new Error("away")) : Promise.resolve({ payments: 2, claim: false });
      const { enter } = stage({ handOut: answer, confirmed: () => Promise.resolve() });
      enter(OTHER!, authorize);
      const changes = [left(indexKey, xdr.ScVal.scvU32(1)), left(paymentKey(1), xdr.ScVal.scvBool(true))];
      const widened = await enter(PAYER!, authorize)!.widen(simulation([indexKey, paymentKey(1)], changes));
      const reserved = isAway ? [2] : [2, 3];
      assert.deepEqual(written(widened), [indexKey, ...[1, ...reserved].map(paymentKey)]);
    }
  });

  test("are not added without competing envelopes, nor for another storage layout", async () => {
    const { enter, problems } = stage();
    assert.equal(enter(PAYER!, { kind: "revokeAgent", deviceHash: authorize.deviceHash }), undefined);
    enter(OTHER!, authorize);
    const unlike = simulation([indexKey, pendingPaymentKey(ESCROW, OTHER!, 3)]);
    assert.equal(await enter(PAYER!, authorize)!.widen(unlike), unlike.transactionData);
    assert.deepEqual(problems, []);
  });

  test("are left out with a warning when the node returns no state changes", async () => {
    const { enter, problems } = stage();
    enter(OTHER!, authorize);
    const silent = simulation([indexKey, paymentKey(1)]);
    assert.equal(await enter(PAYER!, authorize)!.widen(silent), silent.transactionData);
    assert.deepEqual(problems, [
      "authorize is prepared without reserved slots: the simulation does not show what it changes",
    ]);
  });

  test("ignore malformed calls", () => {
    const { ended } = stage();
    for (const args of [[], [xdr.ScVal.scvVoid(), xdr.ScVal.scvVoid(), xdr.ScVal.scvU32(1)]]) {
      for (const name of ["authorize", "claim"]) ended({ contract: ESCROW, function: name, args }, undefined);
    }
  });
});

// needs: neutral
import { Address, Asset, Memo, Operation as Op, TransactionBuilder, xdr } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { checkEnvelope, checkSigned, EnvelopeError, signEnvelope } from "../../lib/client/envelope.ts";
import { type ExpectedCall, expectedCall, filledIn, type Operation } from "../../lib/client/operation_call.ts";
import { contractCall } from "../../lib/escrow/operations/operations.ts";
import {
  authorisation,
  type Bent,
  envelopeOf,
  NETWORK,
  NOW,
  OPERATIONS,
  OWNER,
  THIEF,
  THIEF_CONTRACT,
} from "./envelopes.ts";

const source = OWNER.publicKey();
const callOf = (kind: Operation["kind"]) =>
  expectedCall(NETWORK, source, OPERATIONS.find((operation) => operation.kind === kind)!);
const check = (envelope: string, call: ExpectedCall, bounds = {}) =>
  checkEnvelope(envelope, { ...NETWORK, source, call, bounds, nowSeconds: NOW });

function refuses(envelope: string, message: RegExp, call = callOf("fundEscrow"), bounds = {}): void {
  assert.throws(() => check(envelope, call, bounds), (error: unknown) => {
    assert.ok(error instanceof EnvelopeError, String(error));
    assert.match(error.message, message);
    return true;
  });
}

describe("the call of an operation", () => {
  test("is the same in client and gateway, for every kind", () => {
    for (const operation of OPERATIONS) {
      const ours = expectedCall(NETWORK, source, operation);
      const theirs = contractCall(NETWORK.contracts, source, operation as never);
      const texts = (of: Omit<ExpectedCall, "under">) => of.args.map((arg) => arg.toXdr("base64"));
      assert.deepEqual([ours.contract, ours.function], [theirs.contract, theirs.function]);
      assert.deepEqual(texts(ours), texts(theirs), operation.kind);
    }
  });

  test("uses the gateway's value only for a missing nonce", () => {
    const { nonce: _, ...open } = OPERATIONS.find(({ kind }) => kind === "authorize") as never as { nonce: string };
    assert.deepEqual(filledIn(open as never, { nonce: "7" }), { ...open, nonce: "7" });
    assert.deepEqual(filledIn({ ...open, nonce: "3" } as never, { nonce: "7" }), { ...open, nonce: "3" });
    for (const nonce of ["0", "-1", "01", "18446744073709551616", 7, undefined]) {
      assert.throws(() => filledIn(open as never, { nonce }), RangeError);
    }
  });
});

describe("an envelope of an honest gateway", () => {
  test("is accepted for every kind, with its hash and its time bound", () => {
    for (const operation of OPERATIONS) {
      const call = expectedCall(NETWORK, source, operation);
      const envelope = envelopeOf(call);
      const checked = check(envelope, call);
      assert.equal(checked.validUntil, NOW + 300);
      const transaction = TransactionBuilder.fromXDR(envelope, NETWORK.networkPassphrase);
      assert.equal(checked.hash, xdr.encodeBytes(transaction.hash(), "hex"));
      check(envelopeOf(call, { auth: [] }), call);
    }
  });

  test("is signed for the configured network, whatever the gateway names", () => {
    const call = callOf("claim");
    const checked = check(envelopeOf(call), call);
    const signed = signEnvelope(checked, source, (data) => OWNER.sign(data as never));
    const transaction = TransactionBuilder.fromXDR(signed, NETWORK.networkPassphrase);
    assert.ok(OWNER.verify(transaction.hash(), transaction.signatures[0]!.signature));
    assert.equal(checkSigned(signed, checked), signed);
  });
});

describe("a changed envelope is refused", () => {
  const call = callOf("fundEscrow");
  const [transfer] = call.under as [ExpectedCall];
  const thief = THIEF.publicKey();

  test("when it calls another contract or function", () => {
    for (const kind of OPERATIONS.map(({ kind }) => kind)) {
      const wanted = callOf(kind);
      refuses(envelopeOf({ ...wanted, contract: THIEF_CONTRACT }), /it calls CCW6/, wanted);
      refuses(envelopeOf({ ...wanted, function: "transfer" }), /it calls transfer, not/, wanted);
    }
    refuses(envelopeOf(transfer), /it calls CDLZ/);
  });

  test("when any argument of any kind differs, is missing, or is one too many", () => {
    for (const kind of OPERATIONS.map(({ kind }) => kind)) {
      const wanted = callOf(kind);
      for (const at of wanted.args.keys()) {
        const args = wanted.args.with(at, xdr.ScVal.scvU32(1));
        refuses(envelopeOf({ ...wanted, args }), new RegExp(`argument ${at + 1} of ${wanted.function}`), wanted);
      }
      refuses(envelopeOf({ ...wanted, args: wanted.args.slice(1) }), /number of its arguments/, wanted);
      const more = [...wanted.args, xdr.ScVal.scvVoid()];
      refuses(envelopeOf({ ...wanted, args: more }), /number of its arguments/, wanted);
    }
  });

  test("when any field of the requested operation differs", () => {
    for (const operation of OPERATIONS) {
      for (const [field, value] of Object.entries(operation)) {
        if (field === "kind") continue;
        const numbers = { amount: "2", maxAmount: "1", expiresAt: 1_900_000_001, nonce: "2" };
        const others: Record<string, unknown> = { deviceHash: "cd".repeat(32), asset: THIEF_CONTRACT, ...numbers };
        const other = { ...operation, [field]: others[field] ?? thief };
        assert.notEqual((other as never)[field], value);
        const bent = expectedCall(NETWORK, source, other as never);
        refuses(envelopeOf(bent), /is not the requested/, expectedCall(NETWORK, source, operation));
      }
    }
  });

  test("when its source is another account, as a whole or of its operation", () => {
    refuses(envelopeOf(call, { source: thief }), /its source/);
    refuses(envelopeOf(call, { operationSource: thief }), /further parts/);
  });

  test("when it has more operations, or another one", () => {
    const payment = Op.payment({ destination: thief, amount: "1", asset: Asset.native() });
    refuses(envelopeOf(call, { operations: [payment] }), /no call of a contract/);
    const { contract, function: name, args } = call;
    const whole = Op.invokeContractFunction({ contract, function: name, args });
    refuses(envelopeOf(call, { operations: [whole, payment] }), /not exactly one operation/);
    const upload = Op.uploadContractWasm({ wasm: new Uint8Array(8) as never });
    refuses(envelopeOf(call, { operations: [upload] }), /no call of a contract/);
    refuses(envelopeOf(call, { memo: Memo.text("hello") }), /further parts/);
  });

  test("when its signature would authorise more, fewer or other calls below", () => {
    const toItself = { ...transfer, args: transfer.args.with(1, transfer.args[0]!) };
    const bends: [Bent["auth"], RegExp][] = [
      [[authorisation(call), authorisation(transfer)], /authorises 2 calls/],
      [[authorisation(transfer)], /what it authorises calls/],
      [[authorisation({ ...call, under: [] })], /authorises 0 calls below/],
      [[authorisation({ ...call, under: [transfer, transfer] })], /authorises 2 calls below/],
      [[authorisation({ ...call, under: [{ ...transfer, contract: THIEF_CONTRACT }] })], /what it authorises calls/],
      [[authorisation({ ...call, under: [{ ...transfer, function: "approve" }] })], /what it authorises calls/],
      [[authorisation({ ...call, under: [toItself] })], /argument 2 of transfer/],
      [[authorisation({ ...call, under: [{ ...transfer, under: [transfer] }] })], /1 calls below transfer/],
      [[authorisation({ ...call, args: call.args.with(3, xdr.ScVal.scvU32(1)) })], /argument 4 of fund_escrow/],
    ];
    for (const [auth, message] of bends) refuses(envelopeOf(call, { auth }), message);
    const wanted = callOf("authorize");
    refuses(envelopeOf(wanted, { auth: [authorisation({ ...wanted, under: [transfer] })] }), /1 calls below/, wanted);
    const credentials = xdr.SorobanCredentials.sorobanCredentialsAddress(
      new xdr.SorobanAddressCredentials({
        address: Address.fromString(thief).toScAddress(),
        nonce: 1n,
        signatureExpirationLedger: 9,
        signature: xdr.ScVal.scvVoid(),
      }),
    );
    refuses(envelopeOf(call, { auth: [authorisation(call, credentials)] }), /for another account/);
  });

  test("when it costs too much", () => {
    refuses(envelopeOf(call, { fee: "10000001" }), /may cost 100\d+ stroops, 10000000 are allowed/);
    check(envelopeOf(call, { fee: "10000001" }), call, { maxFee: "20000000" });
    refuses(envelopeOf(call), /1000 are allowed/, call, { maxFee: "1000" });
  });

  test("when it is valid for too long, or has other preconditions", () => {
    refuses(envelopeOf(call, { maxTime: 0 }), /until for ever/);
    refuses(envelopeOf(call, { maxTime: NOW + 601 }), /may be applied until/);
    check(envelopeOf(call, { maxTime: NOW + 4_000 }), call, { maxValiditySeconds: 5_000 });
    refuses(envelopeOf(call, { minTime: 5 }), /further parts/);
    refuses(envelopeOf(call, { bend: (builder) => builder.setLedgerbounds(1, 9) }), /other preconditions/);
    refuses(envelopeOf(call, { bend: (builder) => builder.setMinAccountSequence("1") }), /other preconditions/);
  });

  test("when it is not a plain unsigned transaction", () => {
    const envelope = envelopeOf(call);
    const { networkPassphrase } = NETWORK;
    const transaction = TransactionBuilder.fromXDR(envelope, networkPassphrase);
    transaction.sign(THIEF);
    refuses(transaction.toXdr(), /carries signatures/);
    const bump = TransactionBuilder.buildFeeBumpTransaction(THIEF, "200000", transaction as never, networkPassphrase);
    refuses(bump.toXdr(), /no plain transaction/);
    for (const garbage of ["", "AAAA", "not base64", `${envelope}AAAA`]) {
      refuses(garbage, /must be a transaction envelope/);
    }
  });

  test("when a wallet returns another envelope, or an unsigned one", () => {
    const checked = check(envelopeOf(call), call);
    const other = check(envelopeOf(call, { maxTime: NOW + 301 }), call);
    const signed = signEnvelope(other, source, (data) => OWNER.sign(data as never));
    assert.throws(() => checkSigned(signed, checked), /another transaction/);
    assert.throws(() => checkSigned(checked.xdr, checked), /unsigned/);
    assert.throws(() => checkSigned("", checked), /must be a transaction envelope/);
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Memo, Operation, SorobanDataBuilder, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { altered } from "./envelope_parts.ts";
import { apply, build, codesOf, refusal, signed, submit } from "./sandbox_network.ts";
import {
  type Alterations,
  alteredRegistration,
  codeKeys,
  type ContractNetwork,
  startContractNetwork,
} from "./soroban_parts.ts";

describe("a Soroban envelope is refused", () => {
  let on: ContractNetwork;
  before(async () => {
    on = await startContractNetwork();
  });

  const refused = (alterations: Alterations) => refusal(submit(on.network, alteredRegistration(on, alterations)));

  test("with more than one operation: txMalformed", () => {
    const twice = (tx: xdr.Transaction) => ({ operations: [tx.operations[0]!, tx.operations[0]!] });
    assert.equal(refused({ tx: twice }), "txMalformed");
  });

  test("mixed with a classic operation, whichever comes first: txMalformed", () => {
    const classic = Operation.bumpSequence({ bumpTo: "0" });
    assert.equal(refused({ tx: (tx) => ({ operations: [tx.operations[0]!, classic] }) }), "txMalformed");
    const last = (tx: xdr.Transaction) => ({ operations: [classic, tx.operations[0]!], ext: xdr.TransactionExt.v0() });
    assert.equal(refused({ tx: last }), "txMalformed");
  });

  test("without declaring resources: txMalformed", () => {
    assert.equal(refused({ tx: () => ({ ext: xdr.TransactionExt.v0() }) }), "txMalformed");
  });

  test("with a negative or an absurd resource fee: txMalformed", () => {
    assert.equal(refused({ data: (data) => data.setResourceFee(-1n) }), "txMalformed");
    assert.equal(refused({ data: (data) => data.setResourceFee((1n << 50n) + 1n) }), "txMalformed");
  });

  test("with a resource fee above its fee: txMalformed", () => {
    assert.equal(refused({ tx: () => ({ fee: 1_000 }) }), "txMalformed");
  });

  test("with less than 100 stroops beside the resource fee: txInsufficientFee", () => {
    assert.equal(refused({ tx: (tx) => ({ fee: tx.fee - 1 }) }), "txInsufficientFee");
  });

  test("with a resource fee below what it declares costs: txSorobanInvalid, and a diagnostic event says so", () => {
    const outcome = submit(on.network, alteredRegistration(on, { data: (data) => data.setResourceFee(1_000n) }));
    assert.equal(refusal(outcome), "txSorobanInvalid");
    assert.ok(outcome.status === "ERROR");
    const { data } = xdr.DiagnosticEvent.fromXdr(outcome.diagnosticEventsXdr[0]!).event.body.v0;
    assert.match(JSON.stringify(data.toJson()), /resourceFee.*lower/);
  });

  const memo = Memo.text("hi").toXdrObject();
  const muxedOwner = () =>
    xdr.MuxedAccount.keyTypeMuxedEd25519(
      new xdr.MuxedAccountMed25519({ id: 1n, ed25519: on.owner.rawPublicKey() }),
    );
  test("with a memo or a muxed source: txSorobanInvalid", () => {
    assert.equal(refused({ tx: () => ({ memo }) }), "txSorobanInvalid");
    const muxed = muxedOwner();
    assert.equal(refused({ tx: () => ({ sourceAccount: muxed }) }), "txSorobanInvalid");
    const within = (tx: xdr.Transaction) => ({
      operations: [new xdr.Operation({ sourceAccount: muxed, body: tx.operations[0]!.body })],
    });
    assert.equal(refused({ tx: within }), "txSorobanInvalid");
  });

  test("unless it invokes nothing: an extension and a restoration of entries may have a memo and a muxed source", () => {
    const resources = () => new SorobanDataBuilder().setResourceFee(1_000_000n);
    const extend = Operation.extendFootprintTtl({ extendTo: 100 });
    const restore = Operation.restoreFootprint({});
    for (
      const [operation, data] of [
        [extend, resources().setReadOnly(codeKeys(1))],
        [restore, resources().setReadWrite(codeKeys(1))],
      ] as const
    ) {
      for (const fields of [{ memo }, { sourceAccount: muxedOwner() }]) {
        const plain = build(on.network, on.owner, [operation], { sorobanData: data.build() });
        const applied = apply(on.network, signed(altered(on.network, plain, fields), on.owner));
        assert.equal(applied.successful, true, codesOf(applied.resultXdr));
      }
    }
  });

  test("calling an account instead of a contract: txSorobanInvalid", () => {
    const change = (tx: xdr.Transaction) => {
      const { body } = tx.operations[0]!;
      assert.ok(body.type === "invokeHostFunction");
      const { hostFunction, auth } = body.invokeHostFunctionOp;
      assert.ok(hostFunction.type === "hostFunctionTypeInvokeContract");
      const contractAddress = xdr.ScAddress.scAddressTypeAccount(on.owner.xdrAccountId());
      const args = new xdr.InvokeContractArgs({ ...hostFunction.invokeContract, contractAddress });
      const op = new xdr.InvokeHostFunctionOp({
        hostFunction: xdr.HostFunction.hostFunctionTypeInvokeContract(args),
        auth,
      });
      return {
        operations: [new xdr.Operation({ sourceAccount: null, body: xdr.OperationBody.invokeHostFunction(op) })],
      };
    };
    assert.equal(refused({ tx: change }), "txSorobanInvalid");
  });

  test("uploading code above the limit: txFailed, invokeHostFunctionMalformed", () => {
    const op = Operation.uploadContractWasm({ wasm: new Uint8Array(131_073) });
    const data = new SorobanDataBuilder().setResources(1_000_000, 0, 132_000).setResourceFee(90_000_000n).build();
    const draft = build(on.network, on.owner, [op], { fee: "100", sorobanData: data });
    assert.equal(
      refusal(submit(on.network, signed(draft, on.owner))),
      "txFailed/invokeHostFunction/invokeHostFunctionMalformed",
    );
  });

  test("extending or restoring with the wrong half of the footprint: txFailed, Malformed", () => {
    const code = codeKeys(1);
    const data = (readOnlyKeys: xdr.LedgerKey[], readWrite: xdr.LedgerKey[]) =>
      new SorobanDataBuilder().setReadOnly(readOnlyKeys).setReadWrite(readWrite).setResourceFee(1_000_000n).build();
    const outcome = (operation: xdr.Operation, sorobanData: xdr.SorobanTransactionData) =>
      refusal(submit(on.network, signed(build(on.network, on.owner, [operation], { sorobanData }), on.owner)));
    const extend = (extendTo: number) => Operation.extendFootprintTtl({ extendTo });
    const malformed = "txFailed/extendFootprintTtl/extendFootprintTtlMalformed";
    assert.equal(outcome(extend(100), data([], code)), malformed);
    assert.equal(outcome(extend(3_110_400), data(code, [])), malformed);
    const restore = Operation.restoreFootprint({});
    assert.equal(outcome(restore, data(code, [])), "txFailed/restoreFootprint/restoreFootprintMalformed");
  });
});

describe("a Soroban envelope whose account has another transaction waiting", () => {
  let on: ContractNetwork;
  beforeEach(async () => {
    on = await startContractNetwork();
  });

  /** A registration with these changes, in a fee bump that bids a hundred times as much. */
  const bumped = (alterations: Alterations) => {
    const inner = alteredRegistration(on, alterations);
    return signed(
      TransactionBuilder.buildFeeBumpTransaction(on.owner, "10000000", inner, on.network.passphrase),
      on.owner,
    );
  };

  test("with bad resources or a bad fee is refused all the same; otherwise it is told to come later", () => {
    const { network } = on;
    assert.equal(submit(network, alteredRegistration(on, {})).status, "PENDING");
    const cheap: Alterations = { data: (data) => data.setResourceFee(1_000n) };
    const following = (tx: xdr.Transaction) => ({ seqNum: tx.seqNum + 1n });
    const outcome = submit(network, alteredRegistration(on, { ...cheap, tx: following }));
    assert.equal(refusal(outcome), "txSorobanInvalid");
    assert.ok(outcome.status === "ERROR" && outcome.diagnosticEventsXdr.length === 1);
    assert.equal(refusal(submit(network, bumped(cheap))), "txFeeBumpInnerFailed/txSorobanInvalid");
    const negative: Alterations = { data: (data) => data.setResourceFee(-1n) };
    assert.equal(refusal(submit(network, alteredRegistration(on, negative))), "txMalformed");
    assert.equal(submit(network, alteredRegistration(on, { tx: following })).status, "TRY_AGAIN_LATER");
  });

  test("is told to come later where that is a classic one, whatever it bids and is wrong with it; and the other way round", () => {
    const { network, owner } = on;
    const classic = signed(build(network, owner, [Operation.bumpSequence({ bumpTo: "0" })]), owner);
    assert.equal(submit(network, classic).status, "PENDING");
    assert.equal(submit(network, bumped({})).status, "TRY_AGAIN_LATER", "no fee takes the place of the other kind");
    assert.equal(
      submit(network, alteredRegistration(on, { data: (data) => data.setResourceFee(1_000n) })).status,
      "TRY_AGAIN_LATER",
    );
    network.closeLedger();
    const next = signed(build(network, owner, [Operation.bumpSequence({ bumpTo: "0" })], { fee: "99" }), owner);
    assert.equal(submit(network, alteredRegistration(on, {})).status, "PENDING");
    assert.equal(submit(network, next).status, "TRY_AGAIN_LATER");
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import { Memo, Operation, SorobanDataBuilder, xdr } from "@stellar/stellar-sdk";
import { altered, feeBump, muxed } from "./envelope_parts.ts";
import { apply, build, codesOf, refusal, signed, submit } from "./sandbox_network.ts";
import type { Alterations, ContractNetwork } from "./soroban_parts.ts";
import { alteredRegistration, codeKeys, startContractNetwork } from "./soroban_parts.ts";

const bump = Operation.bumpSequence({ bumpTo: "0" });
const resourceFee = (fee: bigint): Alterations => ({ data: (data) => data.setResourceFee(fee) });

describe("the network", () => {
  let on: ContractNetwork;
  before(async () => {
    on = await startContractNetwork();
  });

  const memo = Memo.text("hi").toXdrObject();
  const ofMuxedOwner = (tx: xdr.Transaction) => {
    const sourceAccount = muxed(on.owner, 1n);
    return { operations: [new xdr.Operation({ sourceAccount, body: tx.operations[0]!.body })] };
  };
  const ofAccount = (tx: xdr.Transaction) => {
    const { body } = tx.operations[0]!;
    assert.ok(body.type === "invokeHostFunction");
    const { hostFunction, auth } = body.invokeHostFunctionOp;
    assert.ok(hostFunction.type === "hostFunctionTypeInvokeContract");
    const contractAddress = xdr.ScAddress.scAddressTypeAccount(on.owner.xdrAccountId());
    const args = new xdr.InvokeContractArgs({ ...hostFunction.invokeContract, contractAddress });
    const func = xdr.HostFunction.hostFunctionTypeInvokeContract(args);
    return { operations: [Operation.invokeHostFunction({ func, auth })] };
  };
  const classicFirst = ({ operations: [one] }: xdr.Transaction) => ({
    operations: [bump, one!],
    ext: xdr.TransactionExt.v0(),
  });

  const cases: [what: string, code: string, alterations: Alterations][] = [
    ["with two operations", "txMalformed", { tx: ({ operations: [one] }) => ({ operations: [one!, one!] }) }],
    ["with a classic operation after the invocation", "txMalformed", {
      tx: ({ operations }) => ({ operations: [operations[0]!, bump] }),
    }],
    ["with a classic operation before the invocation", "txMalformed", { tx: classicFirst }],
    ["without declared resources", "txMalformed", { tx: () => ({ ext: xdr.TransactionExt.v0() }) }],
    ["with a negative resource fee", "txMalformed", resourceFee(-1n)],
    ["with a resource fee above 2^50", "txMalformed", resourceFee((1n << 50n) + 1n)],
    ["with a resource fee above its fee", "txMalformed", { tx: () => ({ fee: 1_000 }) }],
    ["below 100 stroops beside the resource fee", "txInsufficientFee", { tx: ({ fee }) => ({ fee: fee - 1 }) }],
    ["with a memo", "txSorobanInvalid", { tx: () => ({ memo }) }],
    ["with a muxed source", "txSorobanInvalid", { tx: () => ({ sourceAccount: muxed(on.owner, 1n) }) }],
    ["with a muxed source of its operation", "txSorobanInvalid", { tx: ofMuxedOwner }],
    ["that invokes an account instead of a contract", "txSorobanInvalid", { tx: ofAccount }],
  ];
  for (const [what, code, alterations] of cases) {
    test(`refuses a Soroban envelope ${what}: ${code}`, () => {
      assert.equal(refusal(submit(on.network, alteredRegistration(on, alterations))), code);
    });
  }

  test("refuses a Soroban envelope whose resource fee is below the price of its resources: txSorobanInvalid with a diagnostic event", () => {
    const outcome = submit(on.network, alteredRegistration(on, resourceFee(1_000n)));
    assert.equal(refusal(outcome), "txSorobanInvalid");
    assert.ok(outcome.status === "ERROR");
    const { data } = xdr.DiagnosticEvent.fromXdr(outcome.diagnosticEventsXdr[0]!).event.body.v0;
    assert.match(JSON.stringify(data.toJson()), /resourceFee.*lower/);
  });

  const code = codeKeys(1);
  const resources = (readOnly: xdr.LedgerKey[] = [], readWrite: xdr.LedgerKey[] = []) =>
    new SorobanDataBuilder().setReadOnly(readOnly).setReadWrite(readWrite).setResourceFee(1_000_000n);
  const upload = Operation.uploadContractWasm({ wasm: new Uint8Array(131_073) });
  const toUpload = resources().setResources(1_000_000, 0, 132_000).setResourceFee(90_000_000n);
  const extend = (extendTo: number) => Operation.extendFootprintTtl({ extendTo });
  const restore = Operation.restoreFootprint({});

  const malformed: [what: string, operation: xdr.Operation, data: SorobanDataBuilder, name: string][] = [
    ["that uploads a contract above the size limit", upload, toUpload, "invokeHostFunction"],
    ["that extends entries it writes", extend(100), resources([], code), "extendFootprintTtl"],
    ["that extends entries beyond the longest lifetime", extend(3_110_400), resources(code), "extendFootprintTtl"],
    ["that restores entries it only reads", restore, resources(code), "restoreFootprint"],
  ];
  for (const [what, operation, data, name] of malformed) {
    test(`refuses a Soroban envelope ${what}: ${name}Malformed`, () => {
      const transaction = build(on.network, on.owner, [operation], { sorobanData: data.build() });
      const outcome = submit(on.network, signed(transaction, on.owner));
      assert.equal(refusal(outcome), `txFailed/${name}/${name}Malformed`);
    });
  }

  for (
    const [what, operation, data] of [
      ["an extension", extend(100), resources(code)],
      ["a restoration", restore, resources([], code)],
    ] as const
  ) {
    test(`applies ${what} of entries with a memo or a muxed source`, () => {
      for (const fields of [{ memo }, { sourceAccount: muxed(on.owner, 1n) }]) {
        const plain = build(on.network, on.owner, [operation], { sorobanData: data.build() });
        const applied = apply(on.network, signed(altered(on.network, plain, fields), on.owner));
        assert.equal(applied.successful, true, codesOf(applied.resultXdr));
      }
    });
  }
});

describe("while another transaction of the account waits, the network", () => {
  let on: ContractNetwork;
  beforeEach(async () => {
    on = await startContractNetwork();
  });

  /** A fee bump around the registration that bids a hundred times its fee. */
  const bumped = (alterations: Alterations) =>
    feeBump(on.network, on.owner, "10000000", alteredRegistration(on, alterations));
  const classic = (fee = "100") => signed(build(on.network, on.owner, [bump], { fee }), on.owner);

  test("refuses a Soroban envelope with wrong fees, and returns TRY_AGAIN_LATER for a correct one", () => {
    const { network } = on;
    assert.equal(submit(network, alteredRegistration(on, {})).status, "PENDING");
    const following = (tx: xdr.Transaction) => ({ seqNum: tx.seqNum + 1n });
    const outcome = submit(network, alteredRegistration(on, { ...resourceFee(1_000n), tx: following }));
    assert.equal(refusal(outcome), "txSorobanInvalid");
    assert.ok(outcome.status === "ERROR" && outcome.diagnosticEventsXdr.length === 1);
    assert.equal(refusal(submit(network, bumped(resourceFee(1_000n)))), "txFeeBumpInnerFailed/txSorobanInvalid");
    assert.equal(refusal(submit(network, alteredRegistration(on, resourceFee(-1n)))), "txMalformed");
    assert.equal(submit(network, alteredRegistration(on, { tx: following })).status, "TRY_AGAIN_LATER");
  });

  test("returns TRY_AGAIN_LATER for every Soroban envelope if the waiting transaction is classic", () => {
    assert.equal(submit(on.network, classic()).status, "PENDING");
    assert.equal(submit(on.network, bumped({})).status, "TRY_AGAIN_LATER", "a higher fee does not replace it");
    const cheap = alteredRegistration(on, resourceFee(1_000n));
    assert.equal(submit(on.network, cheap).status, "TRY_AGAIN_LATER", "its own fault is not checked");
  });

  test("returns TRY_AGAIN_LATER for every classic envelope if the waiting transaction is Soroban's", () => {
    assert.equal(submit(on.network, alteredRegistration(on, {})).status, "PENDING");
    assert.equal(submit(on.network, classic("99")).status, "TRY_AGAIN_LATER", "its own fault is not checked");
  });
});

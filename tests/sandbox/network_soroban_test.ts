import assert from "node:assert/strict";
import { before, beforeEach, describe, test } from "node:test";
import {
  Account,
  Address,
  Asset,
  Keypair,
  Memo,
  Operation,
  SorobanDataBuilder,
  Transaction,
  TransactionBuilder,
  xdr,
} from "@stellar/stellar-sdk";
import { bootstrapSandbox, type Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { type Engine, EngineTrap } from "../../lib/sandbox/engine.ts";
import { openChain } from "../../lib/sandbox/ledger/chain.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { parseEnvelope } from "../../lib/sandbox/ledger/envelopes.ts";
import type { SorobanFrame } from "../../lib/sandbox/ledger/soroban_checks.ts";
import { applySorobanOperation } from "../../lib/sandbox/ledger/soroban_operations.ts";
import { createLedgerState, openChanges } from "../../lib/sandbox/ledger/state.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import {
  accountOf,
  address,
  apply,
  balanceOf,
  build,
  bytes,
  call,
  codesOf,
  contractCode,
  engineModule,
  feeChargedOf,
  invoke,
  keypair,
  prepare,
  refusal,
  signed,
  startNetwork,
  submit,
} from "./sandbox_network.ts";

const hashOf = (name: string) => sha256(new TextEncoder().encode(name));

describe("a Soroban envelope is refused", () => {
  let network: SandboxNetwork;
  let sandbox: Sandbox;
  let owner: Keypair, agent: Keypair;

  before(async () => {
    ({ network } = await startNetwork());
    sandbox = bootstrapSandbox(network, { contracts: contractCode() });
    owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
    agent = Keypair.fromSecret(sandbox.accounts.agent.secret);
  });

  const register = (name: string) =>
    call(
      sandbox.contracts.deviceRegistry,
      "register",
      address(owner.publicKey()),
      bytes(hashOf(name)),
      address(agent.publicKey()),
    );

  interface Altered {
    data?: (data: SorobanDataBuilder) => void;
    tx?: (tx: xdr.Transaction) => Partial<ConstructorParameters<typeof xdr.Transaction>[0]>;
  }

  /** A registration as simulation made it, with changes to what it declares. */
  function alteredEnvelope({ data, tx: change }: Altered) {
    const envelope = prepare(network, owner, register("card")).toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
    const builder = new SorobanDataBuilder(envelope.v1.tx.ext.sorobanData);
    data?.(builder);
    let tx = new xdr.Transaction({ ...envelope.v1.tx, ext: xdr.TransactionExt.sorobanData(builder.build()) });
    if (change) tx = new xdr.Transaction({ ...tx, ...change(tx) });
    const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
    return signed(
      TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTx(v1), network.passphrase) as ReturnType<
        typeof prepare
      >,
      owner,
    );
  }
  const refused = (altered: Altered) => refusal(submit(network, alteredEnvelope(altered)));
  const resources = (builder: SorobanDataBuilder) => builder.build().resources;
  const readOnly = (count: number) =>
    Array.from(
      { length: count },
      (_, i) => xdr.LedgerKey.contractCode(new xdr.LedgerKeyContractCode({ hash: hashOf(`code ${i}`) })),
    );

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
    const outcome = submit(network, alteredEnvelope({ data: (data) => data.setResourceFee(1_000n) }));
    assert.equal(refusal(outcome), "txSorobanInvalid");
    assert.ok(outcome.status === "ERROR");
    const { data } = xdr.DiagnosticEvent.fromXdr(outcome.diagnosticEventsXdr[0]!).event.body.v0;
    assert.match(JSON.stringify(data.toJson()), /resourceFee.*lower/);
  });

  test("with a memo or a muxed source: txSorobanInvalid", () => {
    assert.equal(refused({ tx: () => ({ memo: Memo.text("hi").toXdrObject() }) }), "txSorobanInvalid");
    const muxed = xdr.MuxedAccount.keyTypeMuxedEd25519(
      new xdr.MuxedAccountMed25519({ id: 1n, ed25519: owner.rawPublicKey() }),
    );
    assert.equal(refused({ tx: () => ({ sourceAccount: muxed }) }), "txSorobanInvalid");
    const within = (tx: xdr.Transaction) => ({
      operations: [new xdr.Operation({ sourceAccount: muxed, body: tx.operations[0]!.body })],
    });
    assert.equal(refused({ tx: within }), "txSorobanInvalid");
  });

  const limits: [string, (data: SorobanDataBuilder) => void, RegExp][] = [
    [
      "more instructions than a transaction may use",
      (data) => data.setResources(400_000_001, resources(data).diskReadBytes, resources(data).writeBytes),
      /instructions resources exceed/,
    ],
    ["more bytes to read", (data) => data.setResources(resources(data).instructions, 200_001, 0), /byte-read/],
    ["more bytes to write", (data) => data.setResources(resources(data).instructions, 0, 132_097), /byte-write/],
    ["a footprint of too many entries", (data) => data.setReadOnly(readOnly(401)), /entries in transaction footprint/],
    ["too many entries to write", (data) => data.setReadWrite(readOnly(201)), /entry-write/],
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
      const outcome = submit(network, alteredEnvelope({ data: change }));
      assert.equal(refusal(outcome), "txSorobanInvalid");
      assert.ok(outcome.status === "ERROR");
      const { data } = xdr.DiagnosticEvent.fromXdr(outcome.diagnosticEventsXdr[0]!).event.body.v0;
      assert.match(JSON.stringify(data.toJson()), reason);
    });
  }

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

  const archived = (...archivedSorobanEntries: number[]) => (data: SorobanDataBuilder) => {
    const built = data.build();
    const ext = xdr.SorobanTransactionDataExt.resourceExt(new xdr.SorobanResourcesExtV0({ archivedSorobanEntries }));
    return new xdr.SorobanTransactionData({ ...built, ext, resourceFee: built.resourceFee });
  };
  test("naming archived entries out of order or out of the footprint: txSorobanInvalid", () => {
    for (const indexes of [[1, 0], [0, 0], [99]]) {
      const change = (tx: xdr.Transaction) => {
        assert.ok(tx.ext.type === "sorobanData");
        return {
          ext: xdr.TransactionExt.sorobanData(archived(...indexes)(new SorobanDataBuilder(tx.ext.sorobanData))),
        };
      };
      assert.equal(refused({ tx: change }), "txSorobanInvalid", indexes.join());
    }
  });

  test("calling an account instead of a contract: txSorobanInvalid", () => {
    const change = (tx: xdr.Transaction) => {
      const { body } = tx.operations[0]!;
      assert.ok(body.type === "invokeHostFunction");
      const { hostFunction, auth } = body.invokeHostFunctionOp;
      assert.ok(hostFunction.type === "hostFunctionTypeInvokeContract");
      const contractAddress = xdr.ScAddress.scAddressTypeAccount(owner.xdrAccountId());
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
    const draft = build(network, owner, [op], { fee: "100", sorobanData: data });
    assert.equal(
      refusal(submit(network, signed(draft, owner))),
      "txFailed/invokeHostFunction/invokeHostFunctionMalformed",
    );
  });

  test("extending or restoring with the wrong half of the footprint: txFailed, Malformed", () => {
    const code = readOnly(1);
    const data = (readOnlyKeys: xdr.LedgerKey[], readWrite: xdr.LedgerKey[]) =>
      new SorobanDataBuilder().setReadOnly(readOnlyKeys).setReadWrite(readWrite).setResourceFee(1_000_000n).build();
    const outcome = (operation: xdr.Operation, sorobanData: xdr.SorobanTransactionData) =>
      refusal(submit(network, signed(build(network, owner, [operation], { sorobanData }), owner)));
    const extend = (extendTo: number) => Operation.extendFootprintTtl({ extendTo });
    const malformed = "txFailed/extendFootprintTtl/extendFootprintTtlMalformed";
    assert.equal(outcome(extend(100), data([], code)), malformed);
    assert.equal(outcome(extend(3_110_400), data(code, [])), malformed);
    const restore = Operation.restoreFootprint({});
    assert.equal(outcome(restore, data(code, [])), "txFailed/restoreFootprint/restoreFootprintMalformed");
  });
});

describe("a contract transaction that fails at apply is charged for what it declared", () => {
  let network: SandboxNetwork;
  let sandbox: Sandbox;
  let owner: Keypair;

  before(async () => {
    ({ network } = await startNetwork());
    sandbox = bootstrapSandbox(network, { contracts: contractCode() });
    owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
  });

  function applyAltered(change: (data: SorobanDataBuilder) => void) {
    const operation = call(
      sandbox.contracts.deviceRegistry,
      "register",
      address(owner.publicKey()),
      bytes(hashOf("failing card")),
      address(owner.publicKey()),
    );
    const envelope = prepare(network, owner, operation).toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
    const data = new SorobanDataBuilder(envelope.v1.tx.ext.sorobanData);
    change(data);
    const tx = new xdr.Transaction({ ...envelope.v1.tx, ext: xdr.TransactionExt.sorobanData(data.build()) });
    const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
    const altered = TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTx(v1), network.passphrase);
    return apply(network, signed(altered, owner));
  }

  const cases: [string, (data: SorobanDataBuilder) => void, string][] = [
    ["without a key it needs", (data) => void data.setReadWrite(data.getReadWrite().slice(1)), "Trapped"],
    ["without the instructions it needs", (data) => {
      const { instructions, diskReadBytes, writeBytes } = data.build().resources;
      data.setResources(Math.floor(instructions / 2), diskReadBytes, writeBytes);
    }, "ResourceLimitExceeded"],
    ["without the bytes it writes", (data) => {
      const { instructions, diskReadBytes } = data.build().resources;
      data.setResources(instructions, diskReadBytes, 10);
    }, "ResourceLimitExceeded"],
    ["without the rent it owes", (data) => void data.setResourceFee(30_000n), "InsufficientRefundableFee"],
  ];
  for (const [what, change, code] of cases) {
    test(`${what}: ${code}`, () => {
      const before = accountOf(network, owner);
      const applied = applyAltered(change);
      assert.equal(codesOf(applied.resultXdr), `txFailed/invokeHostFunction/invokeHostFunction${code}`);
      const after = accountOf(network, owner);
      assert.equal(after.seqNum, before.seqNum + 1n);
      assert.equal(before.balance - after.balance, feeChargedOf(applied));
      const meta = xdr.TransactionMeta.fromXdr(applied.resultMetaXdr);
      assert.ok(meta.type === "v4" && meta.v4.sorobanMeta?.ext.type === "v1");
      const { totalNonRefundableResourceFeeCharged, totalRefundableResourceFeeCharged } = meta.v4.sorobanMeta.ext.v1;
      assert.equal(totalRefundableResourceFeeCharged, 0n);
      assert.equal(feeChargedOf(applied), totalNonRefundableResourceFeeCharged + 100n);
    });
  }

  test("an engine that traps fails the transaction and nothing else", () => {
    const operation = call(sandbox.asset, "name");
    const envelope = parseEnvelope(prepare(network, owner, operation).toEnvelope().toXdr(), new Uint8Array(32));
    const engine = {
      applyInvoke() {
        throw new EngineTrap("out of stack");
      },
    } as unknown as Engine;
    const header = { protocolVersion: 28, sequence: 2, closeTime: 0, baseReserve: 0, networkId: new Uint8Array(32) };
    const changes = openChanges(createLedgerState());
    const seed = new Uint8Array(32);
    const context = { engine, header, changes, source: owner.rawPublicKey(), prngSeed: seed };
    const outcome = applySorobanOperation(envelope.inner as SorobanFrame, context);
    assert.equal(outcome.outcome, "failure");
    const result = xdr.OperationResult.fromXdr(outcome.resultXdr);
    assert.ok(result.type === "opInner");
    assert.equal(result.tr.value.type, "invokeHostFunctionTrapped");
  });
});

describe("a fault of the network's own", () => {
  test("fails the transaction it happens in with txInternalError, is reported, and the next ledger closes", async () => {
    const reported: unknown[] = [];
    const passphrase = "faulty";
    const chain = await openChain({
      engineWasm: await engineModule(),
      passphrase,
      startTime: 0,
      retentionLedgers: 10,
      stateFile: undefined,
      adjustSettings: undefined,
      onInternalError: (error) => reported.push(error),
    });
    const root = Keypair.master(passphrase);
    const draft = new TransactionBuilder(new Account(root.publicKey(), "0"), {
      fee: "1000100",
      networkPassphrase: passphrase,
      sorobanData: new SorobanDataBuilder().setResourceFee(1_000_000n).build(),
    }).addOperation(call(Asset.native().contractId(passphrase), "name")).setTimeout(0).build();
    const envelope = parseEnvelope(signed(draft, root).toEnvelope().toXdr(), chain.validator.networkId);
    const fault = new Error("not foreseen");
    chain.validator.engine = {
      ...chain.validator.engine,
      applyInvoke: () => {
        throw fault;
      },
    };
    const [applied] = chain.append([envelope], 1);
    assert.equal(codesOf(applied!.resultXdr), "txInternalError");
    assert.deepEqual(reported, [fault]);
    chain.append([], 2);
    assert.equal(chain.tip().sequence, 3);
  });
});

describe("contracts of anybody", () => {
  let network: SandboxNetwork;
  const alice = keypair("alice");

  beforeEach(async () => {
    ({ network } = await startNetwork());
    bootstrapSandbox(network, { contracts: contractCode() });
    const funded = network.fund(alice.publicKey());
    network.closeLedger();
    await funded;
  });

  test("can be uploaded, created at a random address and called; the return value is in the metadata", () => {
    const wasm = contractCode().deviceRegistry;
    const uploaded = invoke(network, alice, Operation.uploadContractWasm({ wasm }));
    assert.equal(uploaded.successful, true);
    const created = invoke(
      network,
      alice,
      Operation.createCustomContract({
        address: new Address(alice.publicKey()),
        wasmHash: sha256(wasm),
      }),
    );
    const meta = xdr.TransactionMeta.fromXdr(created.resultMetaXdr);
    assert.ok(meta.type === "v4");
    const value = meta.v4.sorobanMeta?.returnValue;
    assert.ok(value?.type === "scvAddress");
  });

  test("a fee bump can pay resources the inner transaction's own fee does not cover", () => {
    const operation = call(Asset.native().contractId(network.passphrase), "balance", address(alice.publicKey()));
    const prepared = prepare(network, alice, operation);
    const envelope = prepared.toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx");
    const tx = new xdr.Transaction({ ...envelope.v1.tx, fee: 1 });
    const v1 = new xdr.TransactionV1Envelope({ tx, signatures: [] });
    const inner = TransactionBuilder.fromXdr(xdr.TransactionEnvelope.envelopeTypeTx(v1), network.passphrase);
    assert.ok(inner instanceof Transaction);
    assert.equal(refusal(submit(network, signed(inner, alice))), "txMalformed");
    const fee = (BigInt(prepared.fee) + 200n).toString();
    const bump = TransactionBuilder.buildFeeBumpTransaction(alice, fee, inner, network.passphrase);
    assert.equal(apply(network, signed(bump, alice)).successful, true);
  });

  test("a fee bump pays for a contract transaction and gets the refund", () => {
    const operation = call(Asset.native().contractId(network.passphrase), "balance", address(alice.publicKey()));
    const payer = Keypair.master(network.passphrase);
    const inner = signed(prepare(network, alice, operation), alice);
    const fee = (BigInt(inner.fee) + 200n).toString();
    const bump = TransactionBuilder.buildFeeBumpTransaction(payer, fee, inner, network.passphrase);
    const [alicesBefore, payersBefore] = [balanceOf(network, alice), balanceOf(network, payer)];
    const applied = apply(network, signed(bump, payer));
    assert.equal(applied.successful, true);
    assert.equal(balanceOf(network, alice), alicesBefore);
    assert.equal(payersBefore - balanceOf(network, payer), feeChargedOf(applied));
  });
});

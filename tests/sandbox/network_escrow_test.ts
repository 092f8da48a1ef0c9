// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { humanizeEvents, Keypair, scValToNative, xdr } from "@stellar/stellar-sdk";
import type { Sandbox } from "../../lib/sandbox/bootstrap.ts";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import type { AppliedTransaction } from "../../lib/sandbox/network_types.ts";
import { startReadyNetwork } from "./ready_network.ts";
import {
  address,
  apply,
  balanceOf,
  bytes,
  call,
  codesOf,
  feeChargedOf,
  i128,
  invoke,
  prepare,
  signed,
  u64,
} from "./sandbox_network.ts";

const card = sha256(new TextEncoder().encode("card-1"));

function metaOf(applied: AppliedTransaction): xdr.TransactionMetaV4 {
  const meta = xdr.TransactionMeta.fromXdr(applied.resultMetaXdr);
  assert.equal(meta.type, "v4");
  return (meta as Extract<xdr.TransactionMeta, { type: "v4" }>).v4;
}

describe("the escrow's life on the network", () => {
  let network: SandboxNetwork;
  let sandbox: Sandbox;
  let owner: Keypair, agent: Keypair, merchant: Keypair;
  let escrow: string;

  const operations = {
    register: () =>
      call(
        sandbox.contracts.deviceRegistry,
        "register",
        address(owner.publicKey()),
        bytes(card),
        address(agent.publicKey()),
      ),
    registerAgent: () =>
      call(
        sandbox.contracts.agentRegistry,
        "register_agent",
        address(owner.publicKey()),
        bytes(card),
        address(agent.publicKey()),
        i128(1_000_000n),
        address(sandbox.asset),
        u64(0n),
      ),
    fund: (amount: bigint) =>
      call(escrow, "fund_escrow", address(sandbox.asset), address(owner.publicKey()), bytes(card), i128(amount)),
    authorize: (amount: bigint, nonce: bigint) =>
      call(
        escrow,
        "authorize",
        address(agent.publicKey()),
        bytes(card),
        address(merchant.publicKey()),
        address(sandbox.asset),
        i128(amount),
        u64(nonce),
      ),
    claim: () => call(escrow, "claim", address(sandbox.asset), address(merchant.publicKey())),
  };

  before(async () => {
    ({ network, sandbox } = await startReadyNetwork());
    owner = Keypair.fromSecret(sandbox.accounts.owner.secret);
    agent = Keypair.fromSecret(sandbox.accounts.agent.secret);
    merchant = Keypair.fromSecret(sandbox.accounts.merchant.secret);
    escrow = sandbox.contracts.paymentEscrow;
  });

  test("registering, funding, authorizing and claiming moves the tokens", () => {
    invoke(network, owner, operations.register());
    invoke(network, owner, operations.registerAgent());

    const before = balanceOf(network, owner);
    const funded = invoke(network, owner, operations.fund(50_000_000n));
    assert.equal(before - balanceOf(network, owner), 50_000_000n + feeChargedOf(funded));

    const authorized = invoke(network, agent, operations.authorize(1_000n, 1n));
    assert.equal(codesOf(authorized.resultXdr), "txSuccess/invokeHostFunction/invokeHostFunctionSuccess");

    const merchantBefore = balanceOf(network, merchant);
    const claimed = invoke(network, merchant, operations.claim());
    assert.equal(balanceOf(network, merchant) - merchantBefore, 1_000n - feeChargedOf(claimed));
  });

  test("a fund's metadata holds what the SDK looks for: events, return value, fees and changes", () => {
    const applied = invoke(network, owner, operations.fund(7n));
    const meta = metaOf(applied);
    const [operation] = meta.operations;
    assert.deepEqual(humanizeEvents(operation!.events).map((e) => e.topics[0]), ["transfer", "fund"]);
    assert.equal(meta.sorobanMeta?.returnValue?.type, "scvVoid");
    const ext = meta.sorobanMeta?.ext;
    assert.equal(ext?.type, "v1");
    if (ext?.type !== "v1") return;
    const { totalNonRefundableResourceFeeCharged: fixed, totalRefundableResourceFeeCharged: refundable } = ext.v1;
    assert.equal(fixed + refundable + 100n, feeChargedOf(applied));
    const kinds = operation!.changes.map((change) => change.type);
    assert.deepEqual(kinds.filter((kind) => kind === "ledgerEntryUpdated").length, kinds.length / 2);
    assert.deepEqual(meta.txChangesBefore.map((change) => change.type), ["ledgerEntryState", "ledgerEntryUpdated"]);
  });

  test("the success result is the hash of the return value and the events", () => {
    const applied = invoke(network, owner, operations.fund(7n));
    const [operation] = metaOf(applied).operations;
    const preimage = new xdr.InvokeHostFunctionSuccessPreImage({
      returnValue: metaOf(applied).sorobanMeta!.returnValue!,
      events: operation!.events,
    });
    const { result } = xdr.TransactionResult.fromXdr(applied.resultXdr);
    assert.ok(result.type === "txSuccess" && result.results[0]?.type === "opInner");
    const { tr } = result.results[0];
    assert.ok(tr.type === "invokeHostFunction" && tr.invokeHostFunctionResult.type === "invokeHostFunctionSuccess");
    assert.deepEqual(tr.invokeHostFunctionResult.success.value, sha256(preimage.toXdr()));
  });

  test("the fee is charged as bid and what was not needed comes back, with an event each", () => {
    const transaction = signed(prepare(network, agent, operations.authorize(1n, 20n)), agent);
    const before = balanceOf(network, agent);
    const applied = apply(network, transaction);
    const charged = feeChargedOf(applied);
    assert.equal(before - balanceOf(network, agent), charged);
    assert.ok(charged < BigInt(transaction.fee), "nothing was refunded");

    const events = applied.transactionEventsXdr.map((e) => xdr.TransactionEvent.fromXdr(e));
    assert.deepEqual(events.map((e) => e.stage.name), [
      "transactionEventStageBeforeAllTxs",
      "transactionEventStageAfterAllTxs",
    ]);
    const amounts = events.map((e) => scValToNative(e.event.body.v0.data) as bigint);
    assert.equal(amounts[0], BigInt(transaction.fee));
    assert.equal(amounts[0]! + amounts[1]!, charged);
    const topics = events[0]!.event.body.v0.topics.map((topic) => scValToNative(topic));
    assert.deepEqual(topics, ["fee", agent.publicKey()]);
  });

  test("events can be read in the order of their ids, with the number of the transaction and operation", () => {
    const applied = invoke(network, agent, operations.authorize(1n, 30n));
    const ledger = BigInt(applied.ledger);
    const id = (transaction: bigint, index: number) =>
      `${((ledger << 32n) | (transaction << 12n)).toString().padStart(19, "0")}-${String(index).padStart(10, "0")}`;
    const events = [...network.eventsAfter(id(0n, 0).slice(0, 19), applied.ledger)];
    assert.deepEqual(events.map((e) => e.id), [id(0n, 0), id(1n, 0), id(1_048_575n, 0)]);
    assert.deepEqual(events.map((e) => e.transactionIndex), [0, 1, 1_048_575]);
    const [, authorized] = events;
    assert.equal(authorized!.contractId, escrow);
    assert.equal(authorized!.txHash, applied.hash);
    assert.equal(scValToNative(xdr.ScVal.fromXdr(authorized!.topicsXdr[0]!)), "authorize");
    assert.equal(scValToNative(xdr.ScVal.fromXdr(authorized!.valueXdr)), 1n);
    assert.deepEqual([...network.eventsAfter(authorized!.id, applied.ledger)].map((e) => e.id), [events[2]!.id]);
  });

  test("a refused invocation is charged for, uses its sequence number, and keeps the diagnostic events", () => {
    const draft = prepare(network, agent, operations.authorize(1n, 40n));
    invoke(network, owner, operations.fund(1n));
    // Two transactions with the same nonce were prepared; the second one finds it used.
    const rival = signed(prepare(network, agent, operations.authorize(1n, 40n)), agent);
    apply(network, rival);
    const late = prepareAgain(draft);
    const before = balanceOf(network, agent);
    const applied = apply(network, signed(late, agent));
    assert.equal(applied.successful, false);
    assert.equal(codesOf(applied.resultXdr), "txFailed/invokeHostFunction/invokeHostFunctionTrapped");
    assert.equal(before - balanceOf(network, agent), feeChargedOf(applied));
    assert.deepEqual(applied.contractEventsXdr, []);
    const errors = applied.diagnosticEventsXdr.map((e) => xdr.DiagnosticEvent.fromXdr(e).event)
      .filter((event) => scValToNative(event.body.v0.topics[0]!) === "error");
    assert.ok(errors.length > 0, "no diagnostic error event");
  });

  /** The same call and resources with the next sequence number. */
  function prepareAgain(draft: ReturnType<typeof prepare>) {
    const envelope = draft.toEnvelope();
    assert.ok(envelope.type === "envelopeTypeTx" && envelope.v1.tx.ext.type === "sorobanData");
    const tx = new xdr.Transaction({ ...envelope.v1.tx, seqNum: envelope.v1.tx.seqNum + 1n });
    const again = xdr.TransactionEnvelope.envelopeTypeTx(new xdr.TransactionV1Envelope({ tx, signatures: [] }));
    return new (draft.constructor as new (e: xdr.TransactionEnvelope, p: string) => typeof draft)(
      again,
      network.passphrase,
    );
  }

  test("lumens are neither made nor lost: accounts, escrow and fee pool add up", () => {
    const header = xdr.LedgerHeaderHistoryEntry.fromXdr(network.latestLedger().headerXdr).header;
    const root = Keypair.master(network.passphrase);
    const deployer = Keypair.fromRawEd25519Seed(
      sha256(new TextEncoder().encode(`deployer of ${network.passphrase}`)),
    );
    const accounts = [root, deployer, owner, agent, merchant].map((pair) => balanceOf(network, pair));
    const held = 50_000_000n + 7n + 7n + 1n - 1_000n;
    assert.equal(accounts.reduce((sum, balance) => sum + balance, header.feePool + held), header.totalCoins);
  });

  test("the ledger's close metadata can be decoded and names its transactions", () => {
    const applied = invoke(network, owner, operations.fund(3n));
    const { metadataXdr, hash, headerXdr } = network.latestLedger();
    const meta = xdr.LedgerCloseMeta.fromXdr(metadataXdr);
    assert.ok(meta.type === "v2");
    const [processed] = meta.v2.txProcessing;
    assert.equal(processed!.result.transactionHash.toString(), applied.hash);
    assert.equal(processed!.feeProcessing.length, 2);
    assert.equal(processed!.postTxApplyFeeProcessing.length, 2);
    assert.equal(meta.v2.ledgerHeader.hash.toString(), hash);
    const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(headerXdr);
    assert.deepEqual(sha256(header.toXdr()), meta.v2.ledgerHeader.hash.value);
    assert.deepEqual(sha256(meta.v2.txSet.toXdr()), header.scpValue.txSetHash.value);
    assert.equal(meta.v2.ledgerHeader.header.ledgerSeq, applied.ledger);
  });
});

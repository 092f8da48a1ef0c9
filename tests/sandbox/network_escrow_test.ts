// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { humanizeEvents, Keypair, Operation, scValToNative, xdr } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import { PROTOCOLS } from "../../lib/sandbox/ledger/protocol.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { altered } from "./envelope_parts.ts";
import {
  apply,
  balanceOf,
  build,
  codesOf,
  contractCode,
  feeChargedOf,
  hashOf,
  invoke,
  metaOf,
  prepare,
  signed,
} from "./sandbox_network.ts";
import { type ContractNetwork, startContractNetwork } from "./soroban_parts.ts";

// The tests follow one another on one network of each protocol.
for (const protocolVersion of PROTOCOLS) {
  describe(`on a network of protocol ${protocolVersion} with the contracts,`, () => {
    let network: SandboxNetwork;
    let owner: Keypair, agent: Keypair, merchant: Keypair;
    let operations: ContractNetwork["calls"];

    before(async () => {
      ({ network, owner, agent, merchant, calls: operations } = await startContractNetwork(protocolVersion));
    });

    test("a claim moves an authorized payment from the escrow to the merchant", () => {
      invoke(network, owner, operations.register());
      invoke(network, owner, operations.registerAgent(1_000_000n));

      const before = balanceOf(network, owner);
      const funded = invoke(network, owner, operations.fund(50_000_000n));
      assert.equal(before - balanceOf(network, owner), 50_000_000n + feeChargedOf(funded));

      const authorized = invoke(network, agent, operations.authorize(1_000n, 1n));
      assert.equal(codesOf(authorized.resultXdr), "txSuccess/invokeHostFunction/invokeHostFunctionSuccess");

      const merchantBefore = balanceOf(network, merchant);
      const claimed = invoke(network, merchant, operations.claim());
      assert.equal(balanceOf(network, merchant) - merchantBefore, 1_000n - feeChargedOf(claimed));
    });

    test("the metadata has the events, the return value, the charged fees and the changes of entries", () => {
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

    test("a successful result has the hash of the return value and the events", () => {
      const applied = invoke(network, owner, operations.fund(7n));
      const [operation] = metaOf(applied).operations;
      const returnValue = metaOf(applied).sorobanMeta!.returnValue!;
      const preimage = new xdr.InvokeHostFunctionSuccessPreImage({ returnValue, events: operation!.events });
      const { result } = xdr.TransactionResult.fromXdr(applied.resultXdr);
      assert.ok(result.type === "txSuccess" && result.results[0]?.type === "opInner");
      const { tr } = result.results[0];
      assert.ok(tr.type === "invokeHostFunction" && tr.invokeHostFunctionResult.type === "invokeHostFunctionSuccess");
      assert.deepEqual(tr.invokeHostFunctionResult.success.value, sha256(preimage.toXdr()));
    });

    test("the network charges the bid and refunds the rest, with an event each", () => {
      const transaction = signed(prepare(network, agent, operations.authorize(1n, 20n)), agent);
      const before = balanceOf(network, agent);
      const applied = apply(network, transaction);
      const charged = feeChargedOf(applied);
      assert.equal(before - balanceOf(network, agent), charged);
      assert.ok(charged < BigInt(transaction.fee), "nothing was refunded");

      const events = applied.transactionEventsXdr.map((e) => xdr.TransactionEvent.fromXdr(e));
      const stages = events.map(({ stage }) => stage.name.replace("transactionEventStage", ""));
      assert.deepEqual(stages, ["BeforeAllTxs", "AfterAllTxs"]);
      const amounts = events.map((e) => scValToNative(e.event.body.v0.data) as bigint);
      assert.equal(amounts[0], BigInt(transaction.fee));
      assert.equal(amounts[0]! + amounts[1]!, charged);
      const topics = events[0]!.event.body.v0.topics.map((topic) => scValToNative(topic));
      assert.deepEqual(topics, ["fee", agent.publicKey()]);
    });

    test("a failed invocation costs its fee and its sequence number, and has diagnostic events", () => {
      const late = prepare(network, agent, operations.authorize(1n, 40n));
      invoke(network, owner, operations.fund(1n));
      // Another transaction uses the nonce that the late one was simulated with.
      invoke(network, agent, operations.authorize(1n, 40n));
      const next = altered(network, late, { seqNum: BigInt(late.sequence) + 1n });
      const before = balanceOf(network, agent);
      const applied = apply(network, signed(next, agent));
      assert.equal(applied.successful, false);
      assert.equal(codesOf(applied.resultXdr), "txFailed/invokeHostFunction/invokeHostFunctionTrapped");
      assert.equal(before - balanceOf(network, agent), feeChargedOf(applied));
      assert.deepEqual(applied.contractEventsXdr, []);
      const errors = applied.diagnosticEventsXdr.map((e) => xdr.DiagnosticEvent.fromXdr(e).event)
        .filter((event) => scValToNative(event.body.v0.topics[0]!) === "error");
      assert.ok(errors.length > 0, "no diagnostic error event");
    });

    test("the balances, the escrow and the fee pool add up to all lumens", () => {
      const header = xdr.LedgerHeaderHistoryEntry.fromXdr(network.latestLedger().headerXdr).header;
      const root = Keypair.master(network.passphrase);
      const deployer = Keypair.fromRawEd25519Seed(hashOf(`deployer of ${network.passphrase}`));
      const accounts = [root, deployer, owner, agent, merchant].map((pair) => balanceOf(network, pair));
      const held = 50_000_000n + 7n + 7n + 1n - 1_000n;
      assert.equal(accounts.reduce((sum, balance) => sum + balance, header.feePool + held), header.totalCoins);
    });

    test("a ledger's metadata has its transactions, its header, and the hashes of both and of the previous ledger", () => {
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
      assert.equal(header.previousLedgerHash.toString(), network.ledger(applied.ledger - 1)!.hash);
      const { ledgerVersion, baseFee, baseReserve } = header;
      assert.deepEqual([ledgerVersion, baseFee, baseReserve], [protocolVersion, 100, 5_000_000]);
      assert.deepEqual(sha256(header.toXdr()), meta.v2.ledgerHeader.hash.value);
      assert.deepEqual(sha256(meta.v2.txSet.toXdr()), header.scpValue.txSetHash.value);
      assert.equal(meta.v2.ledgerHeader.header.ledgerSeq, applied.ledger);
    });
  });
}

/** The code of a contract that says which protocol it needs. */
function builtFor(protocol: number, code: Uint8Array): Uint8Array {
  const changed = code.slice();
  const name = new TextEncoder().encode("contractenvmetav0");
  const at = changed.findIndex((_, index) => name.every((byte, n) => changed[index + n] === byte));
  // SCEnvMetaEntry: its kind, then the protocol.
  new DataView(changed.buffer).setUint32(at + name.length + 4, protocol);
  return changed;
}

test("the host of a protocol refuses a contract that was built for a later one", async () => {
  for (const protocolVersion of PROTOCOLS) {
    const { network, owner } = await startContractNetwork(protocolVersion);
    const upload = (needs: number) => {
      const wasm = builtFor(needs, contractCode().deviceRegistry);
      const draft = build(network, owner, [Operation.uploadContractWasm({ wasm })]);
      return network.simulate(draft.toEnvelope().toXdr(), {});
    };
    assert.equal(upload(protocolVersion).ok, true);
    const refused = upload(protocolVersion + 1);
    assert.match(refused.ok ? "" : refused.error, /WasmVm, InvalidInput/);
  }
});

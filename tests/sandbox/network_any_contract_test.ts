// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { Address, Asset, Keypair, Operation, Transaction, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { sha256 } from "../../lib/sandbox/ledger/bytes.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { startReadyNetwork } from "./ready_network.ts";
import {
  address,
  apply,
  balanceOf,
  call,
  contractCode,
  feeChargedOf,
  invoke,
  keypair,
  prepare,
  refusal,
  signed,
  submit,
} from "./sandbox_network.ts";

describe("contracts of anybody", () => {
  let network: SandboxNetwork;
  const alice = keypair("alice");

  beforeEach(async () => {
    ({ network } = await startReadyNetwork());
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

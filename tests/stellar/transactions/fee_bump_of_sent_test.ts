// needs: neutral
import { Keypair, TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { fault, hex, PASSPHRASE, refusedAs, submitStage, transaction } from "./submit_stage.ts";

const inner = transaction();
const sponsor = Keypair.fromRawEd25519Seed(new Uint8Array(32).fill(8));
const bump = TransactionBuilder.buildFeeBumpTransaction(sponsor, "150", inner, PASSPHRASE);
bump.sign(sponsor);

test("a rejected fee bump sets no outcome for its inner transaction, which waits for its ledger", async () => {
  const stage = submitStage({ send: (call) => call === 1 ? {} : refusedAs("txInsufficientFee") });
  void stage.transactions.submit(inner.toXdr()).catch(() => {});
  while (stage.sent() === 0) await yieldToOthers();
  const error = await fault(stage.transactions.submit(bump.toXdr()));
  assert.equal(error.headers.Location, `/v1/transactions/${hex(bump.hash())}`);
  assert.equal(stage.notes.get(hex(inner.hash()))!.outcome, undefined);
});

test('a fee bump of an envelope sent without an answer does not get "prepare again": the first may be applied', async () => {
  const stage = submitStage({
    send: (call) => call === 1 ? {} : refusedAs("txInsufficientFee"),
    find: (_, ledger, asked) => asked === hex(inner.hash()) && ledger >= 115 ? { status: "SUCCESS", ledger: 115 } : {},
  });
  assert.equal((await fault(stage.transactions.submit(inner.toXdr()))).code, "upstream_error");
  assert.deepEqual(await stage.transactions.submit(bump.toXdr()), { hash: hex(bump.hash()), ledger: 115 });
});

test("a fee bump with an unknown outcome gets the ledger that applied only its inner transaction", async () => {
  const [hash, innerHash] = [hex(bump.hash()), hex(inner.hash())];
  let isFound = false;
  const { transactions } = submitStage({
    find: (_, __, asked) => isFound && asked === innerHash ? { status: "SUCCESS", ledger: 101 } : {},
  });
  assert.equal((await fault(transactions.submit(bump.toXdr()))).code, "upstream_error");
  isFound = true;
  assert.deepEqual(await transactions.status(hash), { hash, status: "success", ledger: 101 });

  const late = submitStage({});
  await fault(late.transactions.submit(bump.toXdr()));
  assert.equal((await late.transactions.status(hash)).status, "pending");
});

test("an accepted fee bump gets the ledger that applied only its inner transaction", async () => {
  const [hash, innerHash] = [hex(bump.hash()), hex(inner.hash())];
  const { transactions } = submitStage({
    find: (_, ledger, asked) => asked === innerHash && ledger >= 101 ? { status: "SUCCESS", ledger: 101 } : {},
  });
  assert.deepEqual(await transactions.submit(bump.toXdr()), { hash, ledger: 101 });
  assert.deepEqual(await transactions.status(hash), { hash, status: "success", ledger: 101 });
});

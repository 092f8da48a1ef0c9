// needs: once
import { TransactionBuilder } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { assertDone, startIntentCalls } from "./intents_stage.ts";

const { stage, newCard, pass, asked, signed } = await startIntentCalls(2);
after(() => stage.close());

test("what was turned down, and may be applied, is not told as refused for good because another would be refused now", async () => {
  const card = newCard();
  const { agent, owner, deviceHash } = card;
  const { asset } = stage;
  const amount = "10000000000";
  async function byOwner(operation: object): Promise<void> {
    const { body } = await asked("/v1/transactions/prepare", { source: owner.publicKey(), operation });
    const done = await asked("/v1/transactions/submit", signed(body.xdr, owner));
    assert.equal(done.status, 200, done.text);
    await pass(6);
  }
  const merchant = owner.publicKey();
  const payment = { kind: "authorize", deviceHash, merchant, asset, amount: "7" };
  const body = { source: agent.publicKey(), operation: payment };
  const prepare = () => asked("/v1/transactions/prepare", body, { key: "refused-meanwhile" });
  const first = await prepare();
  const turnedDown = await asked("/v1/transactions/submit", signed(first.body.xdr, owner), {
    key: "refused-meanwhile",
  });
  assert.equal(turnedDown.status, 400);

  await byOwner({ kind: "defundEscrow", deviceHash, asset, amount });
  const again = await prepare();
  await byOwner({ kind: "fundEscrow", deviceHash, asset, amount });
  // Another node had it.
  const { xdr } = signed(first.body.xdr, agent);
  stage.network.submit(TransactionBuilder.fromXdr(xdr, stage.network.passphrase).toEnvelope().toXdr());
  await pass(6);
  assertDone(await prepare(), first);
  assert.deepEqual(
    [again.status, again.body.error.retry, again.headers.get("location")],
    [502, "same", `/v1/transactions/${first.body.hash}`],
    again.text,
  );
});

test("and is refused once it is too late for it", async () => {
  const { agent, deviceHash, owner } = newCard();
  const operation = {
    kind: "authorize",
    deviceHash,
    merchant: owner.publicKey(),
    asset: stage.asset,
    amount: "10000000001",
  };
  const body = { source: agent.publicKey(), operation };
  async function byOwner(kind: string): Promise<void> {
    const step = { source: owner.publicKey(), operation: { kind, deviceHash, asset: stage.asset, amount: "1" } };
    const prepared = await asked("/v1/transactions/prepare", step);
    assert.equal((await asked("/v1/transactions/submit", signed(prepared.body.xdr, owner))).status, 200);
    await pass(6);
  }
  await byOwner("fundEscrow");
  const first = await asked("/v1/transactions/prepare", body, { key: "too-late" });
  await asked("/v1/transactions/submit", signed(first.body.xdr, owner), { key: "too-late" });
  await byOwner("defundEscrow");
  assert.equal((await asked("/v1/transactions/prepare", body, { key: "too-late" })).status, 502);
  await pass(310);
  // Two answers have to say how late it is.
  await asked("/v1/transactions/prepare", body, { key: "too-late" });
  await pass(3);
  const told = await asked("/v1/transactions/prepare", body, { key: "too-late" });
  assert.deepEqual([told.status, told.body.error.retry], [422, "never"], told.text);
});

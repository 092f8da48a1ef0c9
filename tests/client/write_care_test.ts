// needs: neutral
import { Keypair, Operation, TransactionBuilder } from "@stellar/stellar-sdk/base";
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayClient, toUnits } from "../../lib/client/client.ts";
import { build, signed, submit } from "../sandbox/sandbox_network.ts";
import { type Ask, hashOfName, newCard, owner, stage, stageOfFile } from "./client_stage.ts";

stageOfFile();

test("write reports a warning before the signature, and an error thrown in onWarning signs nothing", async () => {
  const gateway = stage.client();
  const deviceHash = hashOfName("given up with something in its escrow");
  const { asset, accounts: { agent: { address: agent } } } = stage;
  const warnings: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  const setUp = [
    { kind: "registerDevice", deviceHash, agent },
    { kind: "registerAgent", deviceHash, agent, asset, maxAmount: "5" },
    { kind: "fundEscrow", deviceHash, asset, amount: "7" },
  ] as const;
  for (const operation of setUp) assert.ok((await gateway.write(operation, owner, { onWarning })).ok);
  assert.deepEqual(warnings, []);

  const giveUp = { kind: "revokeDevice", deviceHash } as const;
  const refused = await gateway.write(giveUp, owner, {
    onWarning: (warning) => Promise.reject(new Error(`not with this: ${warning}`)),
  });
  assert.ok(!refused.ok, JSON.stringify(refused));
  assert.deepEqual([refused.reason, refused.retry], ["not_signed", "never"]);
  assert.match(refused.message, /^not with this: .*escrow/);
  assert.ok((await gateway.device(deviceHash)).ok);

  assert.ok((await gateway.write(giveUp, owner, { onWarning })).ok);
  assert.equal(warnings.length, 1);
});

/** A new card's funding. */
async function funding(name: string) {
  const deviceHash = hashOfName(name);
  const agent = stage.accounts.agent.address;
  assert.ok((await stage.client().write({ kind: "registerDevice", deviceHash, agent }, owner)).ok);
  return { kind: "fundEscrow", deviceHash, asset: stage.asset, amount: toUnits("1") } as const;
}

test("an invalid maxEnvelopes, as from an unset variable, signs one envelope only", async () => {
  const error = { code: "invalid_request", message: "txBadSeq", transactionError: "txBadSeq", retry: "prepare_again" };
  const fetch: Ask = async (url, init) =>
    url.includes("/submit") ? Response.json({ error }, { status: 400 }) : await stage.ask(url, init);
  let signed = 0;
  const sign = (envelope: string) => {
    if (++signed > 3) throw new Error("it signs on and on");
    const transaction = TransactionBuilder.fromXDR(envelope, stage.network.networkPassphrase);
    transaction.sign(owner);
    return transaction.toXDR();
  };
  const options = { source: owner.publicKey(), maxEnvelopes: NaN };
  const written = await stage.client({ fetch }).write(await funding("no number"), sign, options);
  assert.deepEqual([written.ok || written.reason, signed], ["outcome_unknown", 1]);
});

test("two writes without an idempotencyKey are two intents, also with null", async () => {
  const operation = await funding("no name");
  const options = { idempotencyKey: null as unknown as undefined };
  for (let payments = 1; payments <= 2; payments++) {
    assert.ok((await stage.client().write(operation, owner, options)).ok);
    const device = await stage.client().device(operation.deviceHash);
    assert.equal(device.ok && device.escrowBalance, toUnits(String(payments)));
  }
});

test("a proxy's 200 to the submit does not confirm a write", async () => {
  const others = [() => Response.json({ status: "ok" }), () => Response.json({ hash: "ab".repeat(32), ledger: 7 })];
  for (const [at, other] of others.entries()) {
    let submits = 0;
    const fetch: Ask = async (url, init) => {
      return url.includes("/submit") && ++submits === 1 ? other() : await stage.ask(url, init);
    };
    const operation = await newCard(`answered by somebody else ${at}`);
    const written = await stage.client({ fetch }).write(operation, owner);
    assert.ok(written.ok && written.ledger > 0, JSON.stringify(written));
    assert.equal(submits, 2);
  }
});

test("a proxy's answer to the status request does not fail a write", async () => {
  for (const [at, other] of [{}, { status: "failed", hash: "ab".repeat(32) }].entries()) {
    let isLost = false;
    let isAsked = false;
    const fetch: Ask = async (url, init) => {
      if (/transactions\/[0-9a-f]{64}$/.test(url) && !isAsked) return isAsked = true, Response.json(other);
      const response = await stage.ask(url, init);
      if (!url.includes("/submit") || isLost) return response;
      isLost = true;
      throw new TypeError("the connection was cut");
    };
    const written = await stage.client({ fetch }).write(await newCard(`asked somebody else ${at}`), owner);
    assert.ok(isLost && isAsked && written.ok, JSON.stringify(written));
  }
});

test("a write has a random key also on insecure pages without randomUUID", async () => {
  const { randomUUID } = crypto;
  crypto.randomUUID = undefined as never;
  try {
    const written = await stage.client().write(await newCard("over plain HTTP"), owner);
    assert.ok(written.ok, JSON.stringify(written));
    assert.match(written.idempotencyKey, /^[0-9a-f]{32}$/);
  } finally {
    crypto.randomUUID = randomUUID;
  }
});

test("a feed ends when the answer does not come from a gateway", async () => {
  for (
    const [status, type] of [[200, "text/html; charset=utf-8"], [200, "application/json"], [204, undefined]] as const
  ) {
    let asked = 0;
    const gateway = createGatewayClient({
      baseUrl: "http://gateway.test",
      fetch: () => {
        assert.equal(++asked, 1, "it asks again");
        const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
        return Promise.resolve(new Response(status === 204 ? null : "<h1>Shop</h1>", { status, headers }));
      },
    });
    const read = Array.fromAsync(gateway.events({ maxAwayMs: 100 }));
    const error = await read.then(() => assert.fail("it went on"), (error) => error);
    assert.deepEqual([error.name, error.failure?.reason], ["FeedError", "not_a_gateway"]);
  }
});

// The last: the owner has another signer from then on.
test("another signer of the account can write for it, and a stranger's key cannot", async () => {
  const { owner, agent } = stage.accounts;
  const own = Keypair.fromSecret(owner.secret);
  const [signer, stranger] = [Keypair.random(), Keypair.random()];
  const addSigner = Operation.setOptions({ signer: { ed25519PublicKey: signer.publicKey(), weight: 1 } });
  submit(stage.on.network, signed(build(stage.on.network, own, [addSigner]), own));
  stage.on.network.closeLedger();

  const deviceHash = hashOfName("a card of two signers");
  const register = { kind: "registerDevice", deviceHash, agent: agent.address } as const;
  const refused = await stage.client().write(register, stranger, { source: owner.address });
  assert.ok(!refused.ok && refused.transactionError === "txBadAuth", JSON.stringify(refused));
  const written = await stage.client().write(register, signer, { source: owner.address });
  assert.ok(written.ok, JSON.stringify(written));
});

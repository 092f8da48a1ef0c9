// needs: neutral
import type { Keypair } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { GatewayError } from "../../lib/errors.ts";
import { sandboxOfFile, signed } from "./sandbox.ts";
import { forTier } from "../tier.ts";

const CARD = "ab".repeat(32);
const SECOND_CARD = "cd".repeat(32);

const sandbox = sandboxOfFile();
let second: Keypair;

async function fault(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.then(() => assert.fail("it resolved"), (error) => error);
  assert.ok(error instanceof GatewayError, String(error?.stack ?? error));
  return error;
}

before(async () => {
  second = await sandbox.account();
  const gateway = sandbox.gateway();
  const { owner, agent, asset } = sandbox;
  for (const [deviceHash, by] of [[CARD, agent], [SECOND_CARD, second]] as const) {
    await gateway.act(owner, { kind: "registerDevice", deviceHash, agent: by.publicKey() });
    const policy = { deviceHash, agent: by.publicKey(), asset, maxAmount: "0" };
    await gateway.act(owner, { kind: "registerAgent", ...policy });
    await gateway.act(owner, { kind: "fundEscrow", deviceHash, asset, amount: "1000" });
  }
});

/**
 * A gateway whose node loses the answers that `loses` picks, after having done what it was asked for. Calls are counted by
 * their request: of two that run at the same time each has its own second attempt.
 */
function losing(loses: (method: string, call: number) => boolean) {
  const calls = new Map<string, number>();
  return sandbox.gateway({
    fetch: async (url, init) => {
      const { method, params } = JSON.parse(String(init.body));
      const request = JSON.stringify([method, params]);
      const call = (calls.get(request) ?? 0) + 1;
      calls.set(request, call);
      const answer = await sandbox.fetch(url, init);
      if (loses(method, call)) throw new TypeError("connection reset");
      return answer;
    },
  });
}

const payment = (deviceHash: string) => ({
  kind: "authorize" as const,
  deviceHash,
  merchant: sandbox.merchant.publicKey(),
  asset: sandbox.asset,
  amount: "1",
});

describe("a node that fails", () => {
  test("after it accepted a transaction does not prevent its confirmation, and the network applies it once", async () => {
    const gateway = losing((method) => method === "sendTransaction");
    const before = BigInt((await sandbox.gateway().escrow.reads.pending(sandbox.merchant.publicKey())).pending);
    const { confirmed: { ledger } } = await gateway.act(sandbox.agent, payment(CARD));
    assert.ok(ledger > 0);
    const { pending } = await sandbox.gateway().escrow.reads.pending(sandbox.merchant.publicKey());
    assert.equal(BigInt(pending), before + 1n);
  });

  test("every other time does not prevent reads, prepare and submit", async () => {
    const gateway = losing((_method, call) => call % 2 === 1);
    await gateway.act(sandbox.agent, payment(CARD));
    assert.equal((await gateway.escrow.reads.device(CARD)).owner, sandbox.owner.publicKey());
  });

  test("always makes every call upstream_error, and a submit names the URL of its status", async () => {
    const gateway = losing(() => true);
    const working = sandbox.gateway();
    const source = sandbox.agent.publicKey();
    const { xdr, hash } = await working.escrow.transactions.prepare({ source, operation: payment(CARD) });
    const { transactions, reads } = gateway.escrow;
    const submitted = await fault(transactions.submit(signed(xdr, sandbox.network.passphrase, sandbox.agent)));
    assert.deepEqual([submitted.code, submitted.headers.Location], ["upstream_error", `/v1/transactions/${hash}`]);
    assert.equal((await fault(Promise.resolve(reads.device(CARD)))).code, "upstream_error");
    assert.equal((await fault(transactions.status(hash))).code, "upstream_error");
    assert.equal((await fault(transactions.prepare({ source, operation: payment(CARD) }))).code, "upstream_error");
    // It did arrive: the note was written before, so another gateway on the same store can tell.
    assert.ok(gateway.notes.has(hash));
    assert.equal((await working.escrow.transactions.status(hash)).status, "success");
  });
});

describe("writes", () => {
  test("need another prepare after another payment to the same merchant", async () => {
    const gateway = sandbox.gateway();
    const { transactions } = gateway.escrow;
    const source = second.publicKey();
    const prepared = await transactions.prepare({ source, operation: payment(SECOND_CARD) });
    await gateway.act(sandbox.agent, payment(CARD));
    const error = await fault(transactions.submit(signed(prepared.xdr, sandbox.network.passphrase, second)));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /prepare again/);
    await gateway.act(second, payment(SECOND_CARD));
  });

  test("with a signature for another network get an error that names the signature", async () => {
    const { transactions } = sandbox.gateway().escrow;
    const source = second.publicKey();
    const prepared = await transactions.prepare({ source, operation: payment(SECOND_CARD) });
    const error = await fault(transactions.submit(signed(prepared.xdr, "Some Other Network", second)));
    assert.equal(error.code, "invalid_request");
    assert.match(error.message, /txBadAuth \(a signature .* was not made for this network/);
  });

  test("of many cards at once all succeed", async () => {
    const gateway = sandbox.gateway();
    const payers = await Promise.all(Array.from({ length: forTier({ test: 4, all: 10 }) }, () => sandbox.account()));
    const before = BigInt((await gateway.escrow.reads.pending(sandbox.owner.publicKey())).pending);
    for (const [index, payer] of payers.entries()) {
      const deviceHash = index.toString(16).padStart(64, "0");
      const own = { deviceHash, asset: sandbox.asset };
      await gateway.act(sandbox.owner, { kind: "registerDevice", deviceHash, agent: payer.publicKey() });
      const policy = { ...own, agent: payer.publicKey(), maxAmount: "0" };
      await gateway.act(sandbox.owner, { kind: "registerAgent", ...policy });
      await gateway.act(sandbox.owner, { kind: "fundEscrow", ...own, amount: "100" });
    }
    await Promise.all(payers.map(async (payer, index) => {
      const deviceHash = index.toString(16).padStart(64, "0");
      const operation = { ...payment(deviceHash), merchant: sandbox.owner.publicKey() };
      for (let paid = 0; paid < 3;) {
        const done = await gateway.act(payer, operation).catch((error) => error);
        if (done instanceof GatewayError) assert.match(done.message, /prepare again/);
        else paid += 1;
      }
    }));
    const after = BigInt((await gateway.escrow.reads.pending(sandbox.owner.publicKey())).pending);
    assert.equal(after - before, BigInt(3 * payers.length));
  });
});

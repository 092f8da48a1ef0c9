// needs: neutral
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import {
  addressVal,
  balanceKey,
  deviceKey,
  hashVal,
  nonceKey,
  policyKey,
} from "../../../lib/escrow/reads/storage_keys.ts";
import { nextNonce as nextStoredNonce } from "../../../lib/store/nonces.ts";
import { openStore } from "../../../lib/store/open.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
/** A card that has used the nonces 1 and 2. */
before(() => {
  const { owner, agent, merchant, contracts, asset, invoke } = sandbox;
  const [self, till, shop] = [owner, agent, merchant].map((who) => addressVal(who.publicKey()));
  const token = addressVal(asset);
  invoke(owner, contracts.deviceRegistry, "register", self!, hashVal(CARD), till!);
  invoke(owner, contracts.agentRegistry, "register_agent", self!, hashVal(CARD), till!, i128(0n), token, u64(0n));
  invoke(owner, contracts.paymentEscrow, "fund_escrow", token, self!, hashVal(CARD), i128(500n));
  for (const nonce of [1n, 2n]) {
    invoke(agent, contracts.paymentEscrow, "authorize", till!, hashVal(CARD), shop!, token, i128(10n), u64(nonce));
  }
});

/** A gateway, just started, in front of contracts that keep a card under other keys than these. */
function started(): GatewayView {
  const { deviceRegistry, agentRegistry, paymentEscrow } = sandbox.contracts;
  const unknown = [
    deviceKey(deviceRegistry, CARD),
    policyKey(agentRegistry, CARD),
    balanceKey(paymentEscrow, CARD),
    nonceKey(paymentEscrow, CARD, sandbox.agent.publicKey()),
  ];
  return sandbox.gateway({
    fetch: async (url, init) => {
      const body = await (await sandbox.fetch(url, init)).json();
      if (JSON.parse(String(init.body)).method === "getLedgerEntries") {
        body.result.entries = body.result.entries.filter(({ key }: { key: string }) => !unknown.includes(key));
      }
      return Response.json(body);
    },
  });
}

/** Lets time pass, and a ledger close. */
async function pass(seconds: number): Promise<void> {
  sandbox.pass(seconds);
  await sandbox.account();
}

/** Of a card's payment: its nonce, and until when it may be applied. */
async function prepared({ escrow }: GatewayView): Promise<{ nonce: string; validUntil: number }> {
  const { agent, merchant, asset } = sandbox;
  const payment = { deviceHash: CARD, merchant: merchant.publicKey(), asset, amount: "10" };
  const { operation, validUntil } = await escrow.transactions.prepare({
    source: agent.publicKey(),
    operation: { kind: "authorize", ...payment },
  });
  return operation.kind === "authorize" ? { nonce: operation.nonce, validUntil } : assert.fail(operation.kind);
}

describe("with another storage layout, a payment gets a valid nonce", () => {
  test("after a read of the card", async () => {
    const gateway = started();
    await gateway.escrow.reads.card(CARD);
    assert.equal(gateway.escrow.reads.ways().device, "calls");
    assert.ok(Number((await prepared(gateway)).nonce) > 2);
  });

  test("with the first request after a start", async () => {
    assert.ok(Number((await prepared(started())).nonce) > 2);
  });
});

test("a gateway that paused during prepare returns no nonce that another gateway may also use", async () => {
  let isGiven = false;
  for (const seconds of [5, 200]) {
    const store = await openStore("memory:", { now: sandbox.nowMs });
    const nextNonce = async (request: Parameters<typeof nextStoredNonce>[1]) => {
      const nonce = await nextStoredNonce(store, request);
      isGiven = true;
      return nonce;
    };
    let isToStand = true;
    const stopped = sandbox.gateway({
      nextNonce,
      async fetch(url, init) {
        if (isToStand && isGiven && JSON.parse(String(init.body)).method === "simulateTransaction") {
          isToStand = false;
          await pass(seconds);
        }
        return await sandbox.fetch(url, init);
      },
    });
    isGiven = false;
    const first = await prepared(stopped).catch((error) => error.code);
    if (first === "upstream_error") continue;
    await pass(first.validUntil - sandbox.nowMs() / 1_000 - 1);
    const second = await prepared(sandbox.gateway({ nextNonce }));
    assert.notEqual(second.nonce, first.nonce, `it stood still for ${seconds} s`);
  }
});

test("a gateway that paused while another used a higher nonce prepares with the next one", async () => {
  const { agent, merchant, contracts, asset, invoke } = sandbox;
  const [till, shop] = [agent, merchant].map((who) => addressVal(who.publicKey()));
  const nonces = ["5", "7"];
  let isToStand = true;
  const stopped = sandbox.gateway({
    nextNonce: () => Promise.resolve(nonces.shift()!),
    fetch(url, init) {
      if (isToStand && isPayment(String(init.body))) {
        isToStand = false;
        const payment = [till!, hashVal(CARD), shop!, addressVal(asset), i128(10n), u64(6n)];
        invoke(agent, contracts.paymentEscrow, "authorize", ...payment);
      }
      return sandbox.fetch(url, init);
    },
  });
  assert.equal((await prepared(stopped)).nonce, "7");
  assert.equal(isToStand, false);
  // A second refusal reaches the client.
  const refused = sandbox.gateway({ nextNonce: () => Promise.resolve("6") });
  await assert.rejects(prepared(refused), { code: "contract_refused", contractError: "DuplicateAuth" });
});

/** Whether this asks for the simulation of an authorize. */
function isPayment(body: string): boolean {
  const { method, params } = JSON.parse(body);
  return method === "simulateTransaction" && atob(params.transaction).includes("authorize");
}

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
import { issueNonce } from "../../../lib/escrow/operations/nonces.ts";
import { openStore } from "../../../lib/store/open.ts";
import { memorySharedState } from "../../stellar/transactions/memory_submission_log.ts";
import type { Store } from "../../../lib/store/store.ts";
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";

type SharedState = Pick<Store["sharedState"], "change">;

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

test("nonces continue after the used one, and no nonce is issued twice while it may be used", async () => {
  let nowMs = 1_800_000_000_000;
  const { sharedState } = await openStore("memory:", { now: () => nowMs });
  const next = (used: bigint, deviceHash = "d", agent = "a") =>
    issueNonce(sharedState, { deviceHash, agent, used }, 60_000);
  assert.deepEqual([await next(0n), await next(41n)], ["1", "42"]);
  const many = await Promise.all(Array.from({ length: 20 }, () => next(42n)));
  assert.deepEqual(many.map(Number).toSorted((a, b) => a - b), Array.from({ length: 20 }, (_, n) => 43 + n));
  assert.deepEqual([await next(60n), await next(7n, "e"), await next(7n, "e", "b")], ["63", "8", "8"]);
  nowMs += 60_000;
  assert.equal(await next(60n), "61");
  const last = 2n ** 64n - 1n;
  for (const nonce of [last - 1n, last, last]) assert.equal(await next(last - 2n), String(nonce));
});

test("a gateway that was suspended during prepare returns no nonce that another gateway may also use", async () => {
  let isGiven = false;
  for (const seconds of [5, 200]) {
    const store = await openStore("memory:", { now: sandbox.nowMs });
    const sharedState: SharedState = {
      async change(name, next) {
        const answer = await store.sharedState.change(name, next);
        isGiven ||= name.startsWith("nonce/");
        return answer;
      },
    };
    let isToStand = true;
    const stopped = sandbox.gateway({
      sharedState,
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
    const second = await prepared(sandbox.gateway({ sharedState }));
    assert.notEqual(second.nonce, first.nonce, `it stood still for ${seconds} s`);
  }
});

test("a gateway that was suspended while another used a higher nonce prepares with the next one", async () => {
  const { agent, merchant, contracts, asset, invoke } = sandbox;
  const [till, shop] = [agent, merchant].map((who) => addressVal(who.publicKey()));
  const nonces = ["5", "7"];
  let isToStand = true;
  const stopped = sandbox.gateway({
    sharedState: issuing(() => nonces.shift()!),
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
  const refused = sandbox.gateway({ sharedState: issuing(() => "6") });
  await assert.rejects(prepared(refused), { code: "contract_refused", contractError: "DuplicateAuth" });
});

/** A store that issues these nonces. */
function issuing(nonce: () => string): SharedState {
  const memory = memorySharedState(sandbox.nowMs);
  return {
    change: (name, next) => name.startsWith("nonce/") ? Promise.resolve(nonce() as never) : memory.change(name, next),
  };
}

/** Whether this asks for the simulation of an authorize. */
function isPayment(body: string): boolean {
  const { method, params } = JSON.parse(body);
  return method === "simulateTransaction" && atob(params.transaction).includes("authorize");
}

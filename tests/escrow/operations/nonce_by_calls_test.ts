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
import { type GatewayView, sandboxOfFile } from "../sandbox.ts";
import { i128, u64 } from "../../sandbox/sandbox_network.ts";

const CARD = "ab".repeat(32);

const sandbox = sandboxOfFile();
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

/** The nonce of a payment of the card that has used 1 and 2. */
async function nonceOf({ escrow }: GatewayView): Promise<number> {
  const { agent, merchant, asset } = sandbox;
  const payment = { deviceHash: CARD, merchant: merchant.publicKey(), asset, amount: "10" };
  const { operation } = await escrow.transactions.prepare({
    source: agent.publicKey(),
    operation: { kind: "authorize", ...payment },
  });
  return operation.kind === "authorize" ? Number(operation.nonce) : assert.fail(operation.kind);
}

describe("where the contracts keep a card under other keys, and reads go by calls, a payment gets a nonce that is good", () => {
  test("when a card has been read", async () => {
    const gateway = started();
    await gateway.escrow.reads.card(CARD);
    assert.equal(gateway.escrow.reads.ways().device, "calls");
    assert.ok(await nonceOf(gateway) > 2);
  });

  test("with the first request after a start", async () => {
    assert.ok(await nonceOf(started()) > 2);
  });
});

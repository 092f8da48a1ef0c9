// needs: neutral
import { Asset, Keypair, nativeToScVal, Operation as Classic } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLazyGateway } from "../../cli/lazy_gateway.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { createLog } from "../../lib/log.ts";
import { openStore } from "../../lib/store/open.ts";
import { networkOfFile, startGateway } from "../http/test_gateway.ts";
import { addressOf, applyNow, callNow } from "../sandbox/past_the_gateway.ts";
import { until } from "../until.ts";

const on = networkOfFile();

/** Two isolates of one deployment. One runs the turns. The other opens after the first turn and only answers requests. */
async function stage(settings: Record<string, string> = {}, now = Date.now) {
  const store = await openStore("memory:", { isShared: true, now });
  const isolate = () => startGateway(on, { started: false, store: () => store, settings });
  const turning = await isolate();
  await turning.gateway.turn(20_000);
  const asked = await isolate();
  const lazy = createLazyGateway({
    open: () => Promise.resolve(asked.gateway),
    log: createLog({ format: "json", level: "error", write: () => {}, now: Date.now }),
    monotonicMs: () => performance.now(),
  });
  const key = await asked.newKey();
  return {
    turning,
    newKey: asked.newKey,
    async get(path: string, token = key): Promise<Response> {
      const request = new Request(`http://gateway.test${path}`, { headers: { authorization: `Bearer ${token}` } });
      return await lazy.fetch(request, { remoteAddress: "203.0.113.9" });
    },
    async stop() {
      await Promise.all([asked.stop(), turning.stop()]);
      await store.close();
    },
  };
}

test("an isolate that asks no node returns a latestLedger that is not older than its newest event", async () => {
  const { turning, get, stop } = await stage();
  await get("/v1/events");
  const { accounts: { owner }, contracts: { deviceRegistry } } = on.sandbox;
  const [signer, self] = [Keypair.fromSecret(owner.secret), addressOf(owner.address)];
  for (const card of ["a1", "a2", "a3"]) {
    callNow(on.network, signer, deviceRegistry, "register", self, hashVal(card.repeat(32)), self);
  }
  await turning.gateway.turn(20_000);
  // It looks around once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  const { events, latestLedger } = await (await get("/v1/events")).json();
  assert.equal(events.length, 3);
  const newest = events.at(-1).ledger;
  assert.ok(latestLedger >= newest, `latestLedger is ${latestLedger}, the newest event is of ${newest}`);
  const { ledger } = await (await get("/v1/status")).json();
  assert.ok(ledger.sequence >= newest, `${ledger.sequence}`);
  await stop();
});

test("the status and metrics of an isolate include bypass movements that another isolate's turn read, and the contract checks", async () => {
  const metricsToken = "scrape-me-0123456789";
  const { turning, get, stop } = await stage({ assets: "native", metricsToken });
  const thief = Keypair.random();
  await on.network.fund(thief.publicKey());
  const asset = new Asset("JUNK", thief.publicKey());
  applyNow(on.network, thief, Classic.createStellarAssetContract({ asset }));
  const { deviceRegistry, paymentEscrow } = on.sandbox.contracts;
  const [self, card] = [addressOf(thief), hashVal("b1".repeat(32))];
  const junk = addressOf(asset.contractId(on.network.passphrase));
  callNow(on.network, thief, deviceRegistry, "register", self, card, self);
  callNow(on.network, thief, paymentEscrow, "fund_escrow", junk, self, card, nativeToScVal(900, { type: "i128" }));
  await turning.gateway.turn(20_000);
  const metrics = await (await get("/metrics", metricsToken)).text();
  assert.equal(/^gateway_bypass_movements (.*)$/m.exec(metrics)![1], "1");
  const status = async () => await (await get("/v1/status")).json();
  assert.equal((await status()).bypassMovements.count, 1);
  const isLookedAt = ({ checkedAt }: { checkedAt: string | null }) => checkedAt !== null;
  await until(async () => (await status()).contracts.every(isLookedAt), 4_000);
  await stop();
});

test("an isolate refuses an expired key after its machine and its monotonic clock were suspended", async () => {
  let aheadMs = 0;
  const { newKey, get, stop } = await stage({}, () => Date.now() + aheadMs);
  const key = await newKey({ expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
  assert.equal((await get("/v1/events", key)).status, 200);
  aheadMs = 7_200_000;
  // It looks around once a second.
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  assert.equal((await get("/v1/events", key)).status, 401);
  await stop();
});

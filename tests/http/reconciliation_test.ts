// needs: neutral
import { Keypair, Operation as Classic } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { test } from "node:test";
import { booksFinding } from "../../cli/doctor/books.ts";
import { readConfig } from "../../cli/read_config.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, callNow, classicNow, issueNow } from "../sandbox/past_the_gateway.ts";
import { i128 } from "../sandbox/sandbox_network.ts";
import { until } from "../until.ts";
import { METRICS_TOKEN, networkOfFile, startGateway } from "./test_gateway.ts";

const CARD = "ab".repeat(32);
const OTHER = "cd".repeat(32);
const DAY_MS = 86_400_000;

const on = networkOfFile();

test("a payout in another asset past the gateway is a difference in API, status, metrics, log and doctor until it is paid back", async () => {
  const { network, sandbox: { accounts, asset: lumens, contracts: { paymentEscrow } } } = on;
  const issuer = Keypair.random();
  await network.fund(issuer.publicKey());
  const usd = issueNow(network, issuer, "USDollars");
  const owner = Keypair.fromSecret(accounts.owner.secret);
  classicNow(network, owner, Classic.changeTrust({ asset: usd.asset }));
  usd.mint(owner.publicKey(), 5_000n);
  let aheadMs = 0;
  const settings = { assets: `native,${usd.contract}`, metricsToken: METRICS_TOKEN };
  const api = await startGateway(on, {
    settings,
    now: () => Date.now() + aheadMs,
    monotonicMs: () => performance.now(),
  });
  const reconciliation = async () => await api.request("GET", "/v1/reconciliation");
  const troubles = async () => (await api.request("GET", "/v1/status")).body.troubles;
  const finding = () => {
    const config = readConfig({}, { store: "memory:", paymentEscrow });
    return booksFinding({ config, store: api.store });
  };
  const scanned = () =>
    until(async () => (await api.store.events.watcherState())!.scannedLedger >= network.latestLedger().sequence);
  try {
    for (const deviceHash of [CARD, OTHER]) {
      await api.write(owner, { kind: "registerDevice", deviceHash, agent: accounts.agent.address });
    }
    await api.write(owner, { kind: "fundEscrow", deviceHash: CARD, asset: usd.contract, amount: "1000" });
    await api.write(owner, { kind: "fundEscrow", deviceHash: OTHER, asset: lumens, amount: "500" });
    const before = await reconciliation();
    assert.deepEqual([before.status, before.body.error.code], [404, "not_found"]);
    assert.equal(await api.figure("gateway_reconciliation_differences"), undefined);

    callNow(network, owner, paymentEscrow, "defund_escrow", addressOf(lumens), hashVal(CARD), i128(100));
    await scanned();
    await api.gateway.tidy(30_000);
    const { body } = await reconciliation();
    const none = { deviceHash: null, merchant: null, asset: lumens };
    assert.deepEqual([body.ok, body.count, body.more], [false, 2, false]);
    assert.deepEqual(body.differences, [
      { ...none, kind: "escrow", log: "500", chain: "400", cause: "bypass" },
      { ...none, kind: "card", deviceHash: CARD, log: "-100", chain: "0", cause: "bypass" },
    ]);
    const trouble =
      `the reconciliation at ${body.checkedAt} found 2 differences between the log and the contracts: run gateway reconcile`;
    assert.deepEqual(await troubles(), [trouble]);
    assert.equal(await api.figure("gateway_reconciliation_differences"), 2);
    assert.equal(await api.figure("gateway_troubles"), 0, "the metric counts the store's file and disk");
    assert.match(api.log(), /the log and the contracts differ/);
    const { verdict, found } = await finding();
    assert.equal(verdict, "warn", found);

    callNow(
      network,
      owner,
      paymentEscrow,
      "fund_escrow",
      addressOf(lumens),
      addressOf(owner),
      hashVal(CARD),
      i128(100),
    );
    await scanned();
    await api.gateway.tidy(30_000);
    assert.deepEqual((await reconciliation()).body, body, "the next one is due after a day");
    aheadMs = DAY_MS;
    await api.gateway.tidy(30_000);
    const later = (await reconciliation()).body;
    assert.deepEqual([later.ok, later.count, later.differences], [true, 0, []]);
    assert.equal(await api.figure("gateway_reconciliation_differences"), 0);
    assert.equal((await finding()).verdict, "ok");
  } finally {
    await api.stop();
  }
});

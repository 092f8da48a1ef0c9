// needs: neutral
import { Asset, Keypair, Operation as Classic } from "@stellar/stellar-sdk";
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { solvencyFinding } from "../../cli/doctor/solvency.ts";
import { readConfig } from "../../cli/read_config.ts";
import type { AssetSolvency } from "../../lib/escrow/assets/solvency.ts";
import { hashVal } from "../../lib/escrow/reads/storage_keys.ts";
import { addressOf, applyNow, callNow, classicNow, type Issued, issueNow } from "../sandbox/past_the_gateway.ts";
import { i128, u64 } from "../sandbox/sandbox_network.ts";
import { until } from "../until.ts";
import {
  type GatewayUnderTest,
  METRICS_TOKEN,
  startGateway,
  startTestNetwork,
  type TestNetwork,
} from "./test_gateway.ts";

const CARD = "ab".repeat(32);
const TICK = "cd".repeat(32);
const THIEFS = "ef".repeat(32);

let on: TestNetwork;
let api: GatewayUnderTest;
let owner: Keypair;
let usd: Issued;
let escrow: string;
let lumens: string;

before(async () => {
  on = await startTestNetwork();
  const issuer = Keypair.random();
  await on.network.fund(issuer.publicKey());
  usd = issueNow(on.network, issuer, "USDollars");
  owner = Keypair.fromSecret(on.sandbox.accounts.owner.secret);
  classicNow(on.network, owner, Classic.changeTrust({ asset: usd.asset }));
  usd.mint(owner.publicKey(), 5_000n);
  escrow = on.sandbox.contracts.paymentEscrow;
  lumens = on.sandbox.asset;
  const settings = { assets: `native,${usd.contract}`, metricsToken: METRICS_TOKEN };
  api = await startGateway(on, { settings });
  const agent = on.sandbox.accounts.agent.address;
  for (const deviceHash of [CARD, TICK]) await api.write(owner, { kind: "registerDevice", deviceHash, agent });
});
after(async () => {
  await api.stop();
  await on.network.stop();
});

const fund = (deviceHash: string, asset: string, amount: number) =>
  api.write(owner, { kind: "fundEscrow", deviceHash, asset, amount: `${amount}` });

/** Moves one stroop and returns the asset's comparison of that ledger or a later one. */
async function compared(asset: string): Promise<AssetSolvency> {
  const { ledger } = await fund(TICK, lumens, 1);
  return await until(async () => {
    const { solvency } = (await api.request("GET", "/v1/status")).body;
    if ((solvency?.ledger ?? 0) < ledger) return undefined;
    assert.equal(solvency.unknownBecause, null);
    return solvency.assets.find((one: AssetSolvency) => one.asset === asset);
  });
}

const lines = (part: string) =>
  api.log().split("\n").filter((line) => line.includes(part)).map((line) => JSON.parse(line));
const warnings = () => lines("cannot pay all that it owes");

function finding(api: GatewayUnderTest) {
  const config = readConfig({}, { store: "memory:", assets: `native,${usd.contract}`, paymentEscrow: escrow });
  return solvencyFinding({ config, store: api.store });
}

describe("the solvency report", () => {
  test("compares the escrow's balance with cards and pending payments, and accepts a gift", async () => {
    await fund(CARD, usd.contract, 1_000);
    const fields = { asset: usd.contract, missing: "0", frozen: false };
    assert.deepEqual(await compared(usd.contract), { ...fields, held: "1000", owed: "1000" });
    callNow(on.network, owner, usd.contract, "transfer", addressOf(owner), addressOf(escrow), i128(25));
    assert.deepEqual(await compared(usd.contract), { ...fields, held: "1025", owed: "1000" });
    assert.equal((await compared(lumens)).missing, "0");
    assert.deepEqual(warnings(), []);
    assert.equal((await finding(api)).verdict, "ok");
  });

  test("shows clawed-back money as missing, in the status, the metrics, the log and the doctor", async () => {
    usd.clawback(escrow, 400n);
    const { held, owed, missing } = await compared(usd.contract);
    assert.deepEqual({ held, owed, missing }, { held: "625", owed: "1000", missing: "375" });
    const page = await api.metrics();
    assert.ok(page.includes(`gateway_escrow_missing{asset="${usd.contract}"} 375\n`), page);
    assert.ok(page.includes(`gateway_escrow_missing{asset="${lumens}"} 0\n`), page);
    assert.match(page, /^gateway_escrow_owed_known 1$/m);
    await compared(usd.contract);
    const [warning, ...more] = warnings();
    assert.deepEqual(more, []);
    assert.equal(warning.asset, usd.contract);
    assert.deepEqual([warning.held, warning.owed, warning.missing], ["625", "1000", "375"]);
    const { verdict, found } = await finding(api);
    assert.equal(verdict, "fail");
    assert.match(found, new RegExp(`^${usd.contract}: holds 625, owes 1000 \\(ledger \\d+\\)$`));
  });

  test("shows no missing money after the operator restores it, and shows a frozen balance", async () => {
    usd.mint(escrow, 375n);
    assert.equal((await compared(usd.contract)).missing, "0");
    assert.equal(lines("can pay what it owes of an asset again").length, 1);
    usd.authorize(escrow, false);
    assert.deepEqual(await compared(usd.contract), {
      asset: usd.contract,
      held: "1000",
      owed: "1000",
      missing: "0",
      frozen: true,
    });
    assert.ok((await api.metrics()).includes(`gateway_escrow_frozen{asset="${usd.contract}"} 1\n`));
    await until(() => warnings().length === 2);
    assert.equal(warnings()[1].frozen, true);
    assert.match((await finding(api)).found, /: frozen by its issuer, holds 1000, owes 1000 /);
    usd.authorize(escrow, true);
    assert.equal((await compared(usd.contract)).frozen, false);
  });

  test("shows money as missing that a stranger takes out for a junk asset past the gateway", async () => {
    const thief = Keypair.random();
    await on.network.fund(thief.publicKey());
    const junk = new Asset("JUNK", thief.publicKey());
    applyNow(on.network, thief, Classic.createStellarAssetContract({ asset: junk }));
    await fund(TICK, lumens, 700);
    const before = await compared(lumens);
    assert.equal(before.missing, "0");
    const { contracts: { agentRegistry, deviceRegistry } } = on.sandbox;
    const [self, card] = [addressOf(thief), hashVal(THIEFS)];
    callNow(on.network, thief, deviceRegistry, "register", self, card, self);
    callNow(on.network, thief, agentRegistry, "register_agent", self, card, self, i128(0), addressOf(lumens), u64(0));
    const token = addressOf(junk.contractId(on.network.passphrase));
    callNow(on.network, thief, escrow, "fund_escrow", token, self, card, i128(600));
    callNow(on.network, thief, escrow, "authorize", self, card, self, addressOf(lumens), i128(250), u64(1));
    assert.equal((await compared(lumens)).missing, "250", "owed to the merchant, and to the other cards");
    callNow(on.network, thief, escrow, "claim", addressOf(lumens), self);
    callNow(on.network, thief, escrow, "defund_escrow", addressOf(lumens), card, i128(50));
    const { held, owed, missing } = await compared(lumens);
    assert.equal(missing, "300");
    assert.equal(BigInt(owed!) - BigInt(held!), 300n);
  });
});

test("a gateway that starts later computes the same missing amount from its log, and warns once", async () => {
  const other = await startGateway(on, { settings: { assets: `native,${usd.contract}` } });
  const latest = on.network.latestLedger().sequence;
  const { solvency } = await until(async () => {
    const { body } = await other.request("GET", "/v1/status");
    return (body.solvency?.ledger ?? 0) >= latest && body;
  });
  assert.equal(solvency.assets.find((one: AssetSolvency) => one.asset === lumens).missing, "300");
  const reported = other.log().split("\n").filter((line) => line.includes("cannot pay all that it owes"));
  assert.deepEqual(reported.map((line) => JSON.parse(line).missing), ["300"]);
  await other.stop();
});

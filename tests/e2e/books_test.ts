// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { toUnits } from "../../lib/client/units.ts";
import { until } from "../until.ts";
import { createClient } from "./client.ts";
import { asArguments, flagsFor, HERE, runGateway, sandboxOfFile } from "./sandbox_process.ts";

const sandbox = sandboxOfFile();

test("beside a gateway, gateway reconcile finds that log and contracts agree, and gateway report adds up", async () => {
  const { info } = sandbox;
  const { gateway, apiKey, asset, store, accounts: { owner, agent, merchant } } = info;
  const api = createClient(gateway, apiKey);
  const deviceHash = "b0".repeat(32);
  async function write(who: typeof owner, operation: Record<string, unknown>) {
    const { status, body } = await api.write(who, operation);
    assert.equal(status, 200, JSON.stringify(body));
  }
  const payment = { kind: "authorize", deviceHash, merchant: merchant.address, asset };
  await write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  await write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "0" });
  await write(owner, { kind: "fundEscrow", deviceHash, asset, amount: toUnits("10") });
  await write(agent, { ...payment, amount: toUnits("4.5") });
  await write(merchant, { kind: "claim", asset });
  await write(agent, { ...payment, amount: toUnits("1") });
  await write(owner, { kind: "defundEscrow", deviceHash, asset, amount: toUnits("2") });
  await until(async () => (await api.get("/v1/payments?state=claimed")).body.payments.length === 1);

  const { "network-passphrase": passphrase, "payment-escrow": escrow, "rpc-url": rpc } = flagsFor(info);
  const books = { store, "network-passphrase": passphrase!, "payment-escrow": escrow! };
  const reconciled = await runGateway(["reconcile", "--json", ...asArguments({ ...books, "rpc-url": rpc! })], {}, HERE);
  assert.equal(reconciled.code, 0, reconciled.stdout + reconciled.stderr);
  const { ok, differences, toLedger, checkedAt } = JSON.parse(reconciled.stdout);
  assert.deepEqual([ok, differences], [true, []]);
  const { body } = await api.get("/v1/reconciliation");
  assert.deepEqual([body.ok, body.toLedger, body.checkedAt], [true, toLedger, checkedAt]);

  const { body: { events: [first] } } = await api.get("/v1/events?types=escrow.funded&limit=1");
  const range = ["--from", first.ledgerClosedAt, "--to", "2100-01-01"];
  const reported = await runGateway(["report", "--json", ...range, "--sandbox", gateway], {}, HERE);
  assert.equal(reported.code, 0, reported.stderr);
  const { assets, complete } = JSON.parse(reported.stdout);
  const none = { opening: "0", swept: "0", expired: "0", bypass: "0" };
  const own = { funded: "100000000", defunded: "20000000", claimed: "45000000", closing: "35000000" };
  assert.deepEqual([complete, assets], [true, [{ asset, ...none, ...own }]]);
  const again = await runGateway(["reconcile", "--sandbox", gateway], {}, HERE);
  assert.deepEqual([again.code, again.stdout], [0, ""], again.stderr);
  const both = await runGateway(["report", ...range, "--sandbox", gateway, "--store", store], {}, HERE);
  assert.equal(both.code, 2);
  assert.match(both.stderr, /^gateway report: --sandbox and --store exclude each other\n/);
});

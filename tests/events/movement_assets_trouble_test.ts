// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

const ASSET = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM";
const movements = { isOne: () => true, assetIn: () => ASSET };

for (const ledgers of [4, 8, 20]) {
  test(`the watcher continues past ${ledgers} ledgers whose transactions a node cannot return`, async () => {
    const { network, node } = simulate();
    const fixture = await createFixture(network, { nodes: [node], movements });
    await untilAtTip(fixture);
    node.beforeCall = (method) => {
      if (method === "getTransactions") throw new NodeRefusal(-32603, "could not read the ledger's transactions");
    };
    for (let ledger = 0; ledger < ledgers; ledger++) network.close({});
    let polls = 0;
    for (; polls < 400; polls++) {
      await fixture.turn();
      fixture.clock.pass(2_000);
      if ((await fixture.history.page({ limit: 1_000 })).events.length === ledgers) break;
    }
    assert.ok(polls <= 3, `${polls} polls`);
  });
}

test("gateways that each live for one turn continue past 60 ledgers whose transactions a node cannot return", async () => {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  node.beforeCall = (method) => {
    if (method === "getTransactions") throw new Response("not in your plan", { status: 403 });
  };
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  let last = await createFixture(network, { nodes: [node], movements, store });
  for (let minute = 0; minute < 2; minute++) {
    await last.watcher.pollFor(25_000);
    await last.watcher.stop();
    last = await createFixture(network, { nodes: [node], movements, store });
  }
  assert.deepEqual(await readAll(last.history), hashesOf(network.emitted));
});

test("the watcher asks a recovered node for the transactions of each new ledger", async () => {
  const { network, node } = simulate();
  const fixture = await createFixture(network, { nodes: [node], movements });
  await untilAtTip(fixture);
  let isTrouble = true;
  node.beforeCall = (method) => {
    if (method === "getTransactions" && isTrouble) throw new NodeRefusal(-32603, "could not read");
  };
  for (let ledger = 0; ledger < 10; ledger++) network.close({});
  for (let polls = 0; polls < 4; polls++) {
    await fixture.turn();
    fixture.clock.pass(2_000);
  }
  isTrouble = false;
  for (let ledger = 0; ledger < 3; ledger++) {
    network.close({});
    await untilAtTip(fixture);
    isTrouble = true;
    network.close({});
    await fixture.turn();
    isTrouble = false;
    fixture.clock.pass(2_000);
    await untilAtTip(fixture);
  }
  const { events } = await fixture.history.page({ limit: 100 });
  assert.deepEqual(events.slice(-6).map(({ asset }) => asset), Array.from({ length: 6 }, () => ASSET));
});

test("the watcher reads 60 ledgers in 5 minutes although each getTransactions call takes 5 s and fails", async () => {
  const { network, node, clock } = simulate();
  const fixture = await createFixture(network, { nodes: [node], movements });
  await untilAtTip(fixture);
  node.beforeCall = (method) => {
    if (method !== "getTransactions") return;
    clock.pass(5_000);
    throw new Response("slow", { status: 504 });
  };
  for (let ledger = 0; ledger < 60; ledger++) network.close({});
  const beganAtMs = clock.monotonicMs();
  for (let polls = 0; polls < 3; polls++) await fixture.turn();
  assert.equal((await fixture.history.page({ limit: 1_000 })).events.length, 60);
  const tookMs = clock.monotonicMs() - beganAtMs;
  assert.ok(tookMs <= 300_000, `it took ${tookMs} ms`);
});

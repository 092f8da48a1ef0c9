// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { createFixture, hashesOf, readAll, simulate } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

/** A network, and gateways that each live for one turn. */
async function isolates() {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const movements = { isOne: () => true, assetIn: () => undefined };
  return {
    network,
    node,
    async turn() {
      const fixture = await createFixture(network, { nodes: [node], store, movements });
      const result = await fixture.watcher.pollFor(25_000);
      await fixture.watcher.stop();
      return { ...result, history: fixture.history, kinds: fixture.kinds() };
    },
  };
}

test("a turn retries a node that fails for a moment", async () => {
  const { network, node, turn } = await isolates();
  network.close({});
  let calls = 0;
  node.beforeCall = () => {
    if (++calls <= 4) throw new Response("not now", { status: 503 });
  };
  const { outcome, history } = await turn();
  assert.equal(outcome, "idle");
  assert.deepEqual(await readAll(history), hashesOf(network.emitted));
});

test("gateways that each live for one turn continue past a ledger whose transactions the node cannot return", async () => {
  const { network, node, turn } = await isolates();
  await turn();
  node.beforeCall = (method) => {
    if (method === "getTransactions") throw new NodeRefusal(-32603, "could not read the ledger's transactions");
  };
  network.close({});
  await turn();
  const { history } = await turn();
  assert.deepEqual(await readAll(history), hashesOf(network.emitted));
});

test("gateways that each live for one turn report a lagging node", async () => {
  const { network, node, turn } = await isolates();
  network.close({});
  await turn();
  node.lag = 1;
  const { outcome, kinds } = await turn();
  assert.equal(outcome, "lagging");
  assert.deepEqual(kinds, ["node_lagging"]);
});

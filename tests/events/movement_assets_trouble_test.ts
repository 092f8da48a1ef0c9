import assert from "node:assert/strict";
import { test } from "node:test";
import { createFixture, simulate, untilAtTip } from "./parts.ts";
import { NodeRefusal } from "./simulated_node.ts";

const ASSET = "CAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAD2KM";

for (const ledgers of [4, 8, 20]) {
  test(`${ledgers} ledgers are gone on from where a node cannot tell their transactions`, async () => {
    const { network, node } = simulate();
    const movements = { isOne: () => true, assetIn: () => ASSET };
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
    assert.ok(polls <= 3 * Math.ceil(ledgers / 4), `${polls} polls`);
  });
}

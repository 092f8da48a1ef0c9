// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { clientOf, createSimulatedNetwork, type SimulatedNode } from "../../events/simulated_node.ts";
import { fakeClock } from "./stub_rpc.ts";

/** So many nodes of one network, and a gateway that has seen it for a while. */
async function stage(count: number) {
  const clock = fakeClock(1_800_000_000_000);
  const network = createSimulatedNetwork(clock);
  network.closeEmpty(10);
  const nodes = Array.from({ length: count }, () => network.node());
  const view = createLedgerView({ clock, nodes: count });
  const rpc = clientOf(nodes, view, clock);
  for (let times = 0; times < 3; times++) {
    await rpc.getHealth();
    clock.pass(1_200);
  }
  assert.equal(view.confirmed.sequence, network.latest);
  return { clock, network, nodes, view, rpc };
}

/** Bends one answer. */
function lieOnce(node: SimulatedNode, by: Record<string, unknown>): void {
  node.bend = (_method, answer) => {
    node.bend = (_method, answer) => answer;
    return { ...answer, ...by };
  };
}

describe("what the view doubts", () => {
  for (const count of [1, 2]) {
    test(`is asked for again by itself, some seconds later (${count} nodes)`, async () => {
      const { clock, network, nodes, view, rpc } = await stage(count);
      const answered = () => nodes.reduce((calls, node) => calls + node.calls.length, 0);
      for (const ahead of [60, 1_000_000]) {
        lieOnce(nodes[0]!, { latestLedger: network.latest + ahead });
        await rpc.getHealth();
        const calls = answered();
        // Whoever reads now is not refused for it: the view is right again before the last try.
        await rpc.getHealth();
        await clock.wait(2_200);
        await clock.wait(2_200);
        await clock.wait(2_200);
        assert.equal(view.sequence, network.latest);
        assert.ok(answered() > calls);
      }
    });
  }

  test("with two nodes, the other one is asked", async () => {
    const { clock, network, nodes: [first, second], rpc } = await stage(2);
    lieOnce(first!, { latestLedger: network.latest + 1_000_000 });
    const before = second!.calls.length;
    await rpc.getHealth();
    await clock.wait(2_200);
    assert.equal(second!.calls.length, before + 1);
  });

  test("a ledger without its time is asked for at once, and not at every answer", async () => {
    const clock = fakeClock(1_800_000_000_000);
    const network = createSimulatedNetwork(clock);
    const node = network.node();
    node.tellsCloseTime = { getEvents: false, getHealth: false, getLatestLedger: true };
    const view = createLedgerView({ clock });
    const rpc = clientOf([node], view, clock);
    await rpc.getHealth();
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(view.sequence, network.latest);
    assert.equal(view.closeTime, network.closeTime);
    const calls = node.calls.length;
    for (let reads = 0; reads < 20; reads++) await rpc.getHealth();
    assert.equal(node.calls.length, calls + 20);
  });
});

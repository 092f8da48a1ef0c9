// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, follow, hashesOf, readAll, simulate, untilAtTip } from "./parts.ts";
import { createSimulatedNetwork, NodeRefusal } from "./simulated_node.ts";

const LOOKS_RESET = "the network looks as if it had been reset";

describe("a network before its reset that is shown again", () => {
  test("what a node no longer holds of the network before the reset is not missing from the new one", async () => {
    const { network, node, fixture } = await follow(simulate({ first: 1_000, retention: 3 }), 5);
    network.reset(950);
    network.close({});
    await untilAtTip(fixture);
    fixture.clock.pass(1_500);
    await untilAtTip(fixture);
    node.showsFormer = true;
    for (let turns = 0; turns < 20; turns++) {
      await fixture.turn();
      assert.ok((await fixture.state()).scannedLedger <= network.latest);
      fixture.clock.pass(3_000);
    }
    node.showsFormer = false;
    network.close({});
    await untilAtTip(fixture);
    const { epoch, scannedLedger, gaps } = await fixture.state();
    assert.deepEqual([epoch, scannedLedger], [1, network.latest]);
    assert.deepEqual(gaps.filter((gap) => gap.epoch === 1), []);
    assert.ok((await readAll(fixture.history)).includes(network.emitted.at(-1)!.txHash));
  });

  test("a node that still shows the network before the reset is not believed", async () => {
    const { network, node, fixture } = await afterReset(10);
    node.showsFormer = true;
    for (let turns = 0; turns < 5; turns++) {
      assert.equal((await fixture.turn()).outcome, "lagging");
      fixture.clock.pass(2_500);
    }
    node.showsFormer = false;
    network.close({});
    await untilAtTip(fixture);
    assert.equal((await fixture.state()).epoch, 1);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
  });

  /** A network that was reset to this ledger, and its gateway at the newest. */
  async function afterReset(first: number) {
    const { network, node, fixture } = await follow(simulate({ first: 5_000 }), 5);
    network.reset(first);
    network.close({});
    await untilAtTip(fixture);
    return { network, node, fixture };
  }

  /** All is told once, and the second network is the one that is followed. */
  async function assertToldOnce({ network, node, fixture }: Awaited<ReturnType<typeof afterReset>>) {
    node.showsFormer = false;
    network.close({});
    await untilAtTip(fixture);
    assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
    const { epoch, gaps, scannedLedger } = await fixture.state();
    assert.deepEqual([epoch, gaps, scannedLedger], [1, [], network.latest]);
  }

  for (const first of [10, 4_990]) {
    test(`a node that shows the network before the reset for ten minutes, which began anew at ${first}, is not read`, async () => {
      const all = await afterReset(first);
      all.node.showsFormer = true;
      for (let turns = 0; turns < 200; turns++) {
        await all.fixture.turn();
        all.fixture.clock.pass(3_000);
      }
      await assertToldOnce(all);
    });
  }

  test("nor at once, where the last ledger before the reset closed in the same second as the first after it", async () => {
    const all = await afterReset(10);
    const { closeTime } = all.network;
    all.node.showsFormer = true;
    all.node.bend = (_method, answer) =>
      "latestLedgerCloseTime" in answer ? { ...answer, latestLedgerCloseTime: closeTime } : answer;
    for (let turns = 0; turns < 10; turns++) {
      await all.fixture.turn();
      all.fixture.clock.pass(3_000);
    }
    all.node.bend = (_method, answer) => answer;
    await assertToldOnce(all);
  });

  for (const refusals of [0, 1]) {
    test(`nor where both networks have the ledgers that come next, and the node refuses ${refusals} times to tell`, async () => {
      const { network, node, fixture } = await follow(simulate({ first: 5_000 }), 20);
      network.reset(5_000);
      network.close({});
      for (let turns = 0; turns < 20; turns++) {
        await fixture.turn();
        fixture.clock.pass(2_500);
      }
      network.close({});
      await untilAtTip(fixture);
      node.showsFormer = true;
      const { overturned } = fixture.view;
      let refused = 0;
      node.beforeCall = (method) => {
        if (method !== "getLedgers" || fixture.view.overturned === overturned || refused++ >= refusals) return;
        throw new NodeRefusal(-32603, "internal error");
      };
      for (let turns = 0; turns < 200; turns++) {
        await fixture.turn();
        fixture.clock.pass(3_000);
      }
      await assertToldOnce({ network, node, fixture });
    });
  }

  test("a network that was away for a minute, while another was shown, and lives on is followed again", async () => {
    const { network, node } = simulate({ first: 5_000 });
    const other = createSimulatedNetwork(network.clock, 10);
    const [own, wrong] = [node.answer, other.node().answer];
    let shown = own;
    node.answer = (body) => shown(body);
    const close = () => {
      network.close({});
      other.close({});
    };
    for (let ledger = 0; ledger < 50; ledger++) close();
    const fixture = await createFixture(network, { nodes: [node] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    shown = wrong;
    for (let turns = 0; turns < 6; turns++) {
      close();
      await fixture.turn();
    }
    shown = own;
    for (let turns = 0; turns < 300; turns++) {
      close();
      await fixture.turn();
    }
    const { scannedLedger } = await fixture.state();
    assert.ok(scannedLedger >= network.latest - 2, `${scannedLedger} of ${network.latest}`);
  });

  test("a node that tells no hashes any more is read on, in polls and in turns a minute apart", async () => {
    const { network, node, fixture } = await follow(simulate({ first: 5_000 }), 5);
    network.reset(10);
    network.close({});
    for (let turns = 0; turns < 5; turns++) await untilAtTip(fixture);
    node.beforeCall = (method) => {
      if (method === "getLedgers") throw new Response("forbidden", { status: 403 });
    };
    fixture.view.hear({ node: 0, sequence: network.latest + 5, closeTime: network.closeTime });
    for (const ledgers of [1, 12]) {
      const outcomes: string[] = [];
      for (let turns = 0; turns < 40; turns++) {
        network.closeEmpty(ledgers - 1);
        network.close({});
        outcomes.push((await fixture.turn()).outcome);
      }
      assert.equal((await fixture.state()).scannedLedger, network.latest);
      assert.ok(outcomes.slice(15).every((outcome) => outcome === "at_tip"), outcomes.join());
    }
  });

  test("nor does one of two nodes that goes on showing it keep the other from being read", async () => {
    const { network, node } = simulate({ first: 5_000 });
    const stale = network.node();
    for (let ledger = 0; ledger < 5; ledger++) network.close({});
    const fixture = await createFixture(network, { nodes: [node, stale] });
    for (let turns = 0; turns < 4; turns++) await untilAtTip(fixture);
    network.reset(10);
    network.close({});
    await untilAtTip(fixture);
    stale.showsFormer = true;
    // For so long that the other one's word is all there is.
    node.beforeCall = () => {
      throw new Response("down", { status: 503 });
    };
    for (let turns = 0; turns < 200; turns++) {
      await fixture.turn();
      fixture.clock.pass(3_000);
    }
    node.beforeCall = () => {};
    for (let turns = 0; turns < 30; turns++) {
      await fixture.turn();
      network.close({});
    }
    const { epoch, scannedLedger, gaps } = await fixture.state();
    assert.ok(scannedLedger >= network.latest - 1, `read to ${scannedLedger} of ${network.latest}`);
    assert.deepEqual([epoch, gaps], [1, []]);
    const read = await readAll(fixture.history);
    assert.deepEqual(read, hashesOf(network.emitted).slice(0, read.length));
  });

  test("a node that shows the new network once, and then the one before with fewer ledgers, has not confirmed a reset", async () => {
    const { network, node, fixture } = await follow(simulate({ first: 5_000 }), 5);
    network.reset(10);
    for (let turns = 0; (await fixture.watcher.turn(0)).reason !== LOOKS_RESET; turns++) {
      assert.ok(turns < 20);
      fixture.clock.pass(1_000);
    }
    [node.showsFormer, node.lag] = [true, 4];
    for (let turns = 0; turns < 5; turns++) {
      fixture.clock.pass(3_000);
      await fixture.watcher.turn(0);
      assert.equal((await fixture.state()).epoch, 0);
    }
    node.lag = 0;
    await assertToldOnce({ network, node, fixture });
  });

  test("nor is a local network that goes back to a snapshot taken for the one before, for ledgers that both have", async () => {
    const { network, fixture } = await follow(simulate(), 10);
    const { anchor } = await fixture.state();
    for (let ledger = 0; ledger < 10; ledger++) network.close({});
    await untilAtTip(fixture);
    for (let times = 0; times < 2; times++) {
      network.goBack(3, 15);
      assert.ok(anchor!.ledger <= network.latest);
      for (let turns = 0; turns < 4; turns++) {
        await fixture.turn();
        fixture.clock.pass(1_000);
      }
      assert.equal((await fixture.state()).epoch, times + 1);
      network.close({});
      await untilAtTip(fixture);
    }
    assert.equal((await fixture.state()).scannedLedger, network.latest);
    assert.equal((await readAll(fixture.history)).at(-1), network.emitted.at(-1)!.txHash);
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, hashesOf, OTHER_CONTRACT, readAll, restart, simulate, threeTurns } from "./parts.ts";
import { CONTRACT, NodeRefusal } from "./simulated_node.ts";

describe("the watcher's contracts", () => {
  test("the watcher reads a new contract's earlier events that the node holds, and appends them at the end of the log", async () => {
    const { network, node } = simulate();
    network.close({}, { contractId: OTHER_CONTRACT });
    network.close({});
    const first = await createFixture(network, { nodes: [node] });
    await threeTurns(first);
    const { cursor } = await first.history.page({ limit: 10 });
    const again = await restart(first, { contractIds: [OTHER_CONTRACT, CONTRACT] });
    await threeTurns(again);
    const shown = (await again.history.page({ limit: 10 })).events;
    assert.deepEqual(shown.map(({ contractId }) => contractId), [CONTRACT, CONTRACT, OTHER_CONTRACT]);
    assert.equal((await again.history.page({ cursor, limit: 10 })).events.length, 1);
    assert.deepEqual(again.kinds(), ["contracts_changed", "repaired"]);
    assert.deepEqual(await again.gaps(), []);
    assert.deepEqual((await again.history.status()).held, [{ epoch: 0, fromLedger: 1_000, toLedger: network.latest }]);
  });

  test("ledgers of a new contract that no node holds are no gap", async () => {
    const { network, node } = simulate({ retention: 10 });
    network.close({});
    const first = await createFixture(network, { nodes: [node] });
    for (let ledger = 0; ledger < 30; ledger++) {
      network.close({}, { contractId: OTHER_CONTRACT });
      await first.turn();
    }
    const again = await restart(first, { contractIds: [OTHER_CONTRACT, CONTRACT] });
    let closes = 4;
    node.beforeCall = (method) => {
      if (method === "getEvents" && closes-- > 0) network.close();
    };
    await threeTurns(again);
    assert.deepEqual(await again.gaps(), []);
    const ofOther = network.emitted.filter(({ contractId, ledger }) => contractId === OTHER_CONTRACT && ledger > 1_025);
    const all = new Set(await readAll(again.history));
    assert.ok(hashesOf(ofOther).every((hash) => all.has(hash)));
    assert.ok(
      hashesOf(network.emitted.filter(({ contractId }) => contractId === CONTRACT)).every((hash) => all.has(hash)),
    );
  });

  test("one answer does not prove that a node has pruned a new contract's first ledgers", async () => {
    const { network, node } = simulate();
    for (let ledger = 0; ledger < 20; ledger++) network.close({}, { contractId: OTHER_CONTRACT });
    const first = await createFixture(network, { nodes: [node] });
    await threeTurns(first);
    const again = await restart(first, { contractIds: [OTHER_CONTRACT, CONTRACT] });
    let lies = 0;
    node.beforeCall = (method) => {
      if (method !== "getEvents" || node.calls.at(-1)?.params.startLedger !== 1_000 || lies++ > 0) return;
      throw new NodeRefusal(-32600, `startLedger must be within the ledger range: 1015 - ${network.latest}`);
    };
    await threeTurns(again);
    assert.equal(lies > 0, true);
    assert.deepEqual(new Set(await readAll(again.history)), new Set(hashesOf(network.emitted)));
    assert.deepEqual(await again.gaps(), []);
  });

  test("an id that is removed and restored has the unwatched ledgers as a gap, which is filled where a node holds them (T9)", async () => {
    const { network, node } = simulate({ retention: 20 });
    network.close({});
    let fixture = await createFixture(network, { nodes: [node] });
    await threeTurns(fixture);
    const away = (await fixture.state()).scannedLedger;
    fixture = await restart(fixture, { contractIds: [OTHER_CONTRACT] });
    await threeTurns(fixture);
    for (let ledger = 0; ledger < 60; ledger++) {
      network.close({}, { contractId: OTHER_CONTRACT });
      await fixture.turn();
    }
    await threeTurns(fixture);
    assert.deepEqual(await fixture.gaps(), []);
    fixture = await restart(fixture, { contractIds: [CONTRACT] });
    const oldest = node.oldest;
    await threeTurns(fixture);
    const { gaps, contracts } = await fixture.state();
    assert.deepEqual(
      gaps.map(({ fromLedger, toLedger, contractIds }) => ({ fromLedger, toLedger, contractIds })),
      [{ fromLedger: away + 1, toLedger: oldest - 1, contractIds: [CONTRACT] }],
    );
    assert.equal(contracts[OTHER_CONTRACT]!.toLedger === null, false);
    const all = new Set(await readAll(fixture.history));
    const held = network.emitted.filter(({ contractId, ledger }) =>
      contractId === OTHER_CONTRACT || ledger <= away || ledger >= oldest
    );
    assert.deepEqual(all, new Set(hashesOf(held)));
    const { held: ranges } = await fixture.history.status();
    assert.deepEqual(ranges.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[1_000, away], [
      oldest,
      network.latest,
    ]]);
  });

  test("the notice names new contracts with their setting, and contracts that are no longer watched", async () => {
    const { network, node } = simulate();
    let fixture = await createFixture(network, { nodes: [node] });
    await threeTurns(fixture);
    const reported = async (contractIds: string[]) => {
      const titleOf = (id: string) => `SERVICE_API_${id === CONTRACT ? "FIRST" : "OTHER"}`;
      fixture = await restart(fixture, { contractIds, titleOf });
      await threeTurns(fixture);
      return fixture.problems.map(({ message }) => message);
    };
    const since = "the watcher reads earlier events of a new one as far back as an RPC node holds them";
    assert.deepEqual(await reported([OTHER_CONTRACT]), [
      `the watched contracts have changed; SERVICE_API_OTHER is ${OTHER_CONTRACT}; ${CONTRACT} is no longer watched; ${since}`,
    ]);
    assert.deepEqual(await reported([CONTRACT, OTHER_CONTRACT]), [
      `the watched contracts have changed; SERVICE_API_FIRST is ${CONTRACT}; ${since}`,
    ]);
    assert.deepEqual(await reported([OTHER_CONTRACT]), [
      `the watched contracts have changed; ${CONTRACT} is no longer watched`,
    ]);
    assert.deepEqual(await reported([OTHER_CONTRACT]), []);
  });

  test("other contracts after a network reset begin in a new epoch", async () => {
    const { network, node } = simulate({ first: 5_000 });
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    const first = await createFixture(network, { nodes: [node] });
    await threeTurns(first);
    await first.watcher.stop();
    network.reset(10);
    network.close({ contractId: OTHER_CONTRACT });
    const again = await restart(first, { contractIds: [OTHER_CONTRACT] });
    await threeTurns(again);
    await threeTurns(again);
    const { epoch, contracts, formerEpochs } = await again.state();
    assert.equal(epoch, 1);
    assert.deepEqual(contracts, { [OTHER_CONTRACT]: { fromLedger: 10, toLedger: null } });
    assert.deepEqual(formerEpochs, [{ epoch: 0, fromLedger: 5_000, toLedger: 5_030 }]);
    assert.equal((await readAll(again.history)).length, 31);
  });
});

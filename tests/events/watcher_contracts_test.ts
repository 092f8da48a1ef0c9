import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFixture, readAll } from "./parts.ts";
import { CONTRACT, createSimulatedNode, decodeSimulated } from "./simulated_node.ts";

const OTHER_CONTRACT = "CB4DPMGOA374JIB2ZVD4AHW5GJKQUYNOFGRYNOJ75EFH2KCJSMHOWIRA";
const hashesOf = (emitted: { txHash: string }[]) => emitted.map(({ txHash }) => txHash);

describe("the watcher and its contracts", () => {
  test("a new contract id backfills again from the oldest ledger and repeats no event", async () => {
    const node = createSimulatedNode();
    node.close({}, { contractId: OTHER_CONTRACT });
    node.close({});
    const first = await createFixture(node);
    await first.watcher.turn();
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT, CONTRACT] });
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
    const shown = (await again.history.page({ limit: 10 })).events;
    assert.deepEqual(shown.map(({ contractId }) => contractId), [CONTRACT, OTHER_CONTRACT, CONTRACT]);
    assert.equal(new Set(hashesOf(shown)).size, 3);
    assert.equal((await again.store.watcherState())!.oldestLedger, 1_000);
    assert.deepEqual(again.problems.map(({ kind }) => kind), ["contracts_changed"]);
  });

  test("what is told of other contracts names the new ones by their setting, and those that are watched no more", async () => {
    const node = createSimulatedNode();
    const first = await createFixture(node);
    await first.watcher.turn();
    const told = async (contractIds: string[]) => {
      const titleOf = (id: string) => `SERVICE_API_${id === CONTRACT ? "FIRST" : "OTHER"}`;
      const again = await createFixture(node, { store: first.store, contractIds, titleOf });
      await again.watcher.turn();
      return again.problems.map(({ message }) => message);
    };
    const since = "events of a new one are held as far back as the RPC node held them";
    assert.deepEqual(await told([OTHER_CONTRACT]), [
      `other contracts are watched now; SERVICE_API_OTHER is ${OTHER_CONTRACT}; ${CONTRACT} is watched no more; ${since}`,
    ]);
    assert.deepEqual(await told([CONTRACT, OTHER_CONTRACT]), [
      `other contracts are watched now; SERVICE_API_FIRST is ${CONTRACT}; ${since}`,
    ]);
    assert.deepEqual(await told([OTHER_CONTRACT]), [`other contracts are watched now; ${CONTRACT} is watched no more`]);
    assert.deepEqual(await told([OTHER_CONTRACT]), []);
  });

  test("history held from before the node's retention stays held when the contracts change", async () => {
    const node = createSimulatedNode({ retention: 10 });
    node.close({});
    const first = await createFixture(node);
    await first.watcher.turn();
    for (let ledger = 0; ledger < 30; ledger++) {
      node.close({});
      await first.watcher.turn();
    }
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT, CONTRACT] });
    const asked = node.requests.length;
    node.beforeCall = (method) => {
      if (method === "getEvents" && node.requests.length === asked + 1) node.closeEmpty(3);
    };
    await again.watcher.turn();
    assert.deepEqual(await readAll(again.history), hashesOf(node.emitted));
    assert.equal((await again.store.watcherState())!.oldestLedger, 1_000);
    assert.deepEqual(await again.store.gaps(), []);
  });

  test("a gap and a change of contracts at the same start are both seen", async () => {
    const node = createSimulatedNode({ retention: 10 });
    const first = await createFixture(node);
    await first.watcher.turn();
    const scanned = node.latest;
    node.closeEmpty(40);
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    await again.watcher.turn();
    const gaps = await again.store.gaps();
    assert.deepEqual(gaps.map(({ fromLedger, toLedger }) => [fromLedger, toLedger]), [[scanned + 1, node.oldest - 1]]);
  });

  test("other contracts on a node that lags are waited for", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    node.closeEmpty(20);
    const first = await createFixture(node);
    await first.watcher.turn();
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    node.lag = 5;
    assert.equal((await again.watcher.turn()).outcome, "lagging");
    assert.equal((await again.store.watcherState())!.contractIds, CONTRACT);
    node.lag = 0;
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
  });

  test("other contracts on a network that was reset begin a new epoch, and the old one's end is a gap", async () => {
    const node = createSimulatedNode({ first: 5_000 });
    for (let ledger = 0; ledger < 30; ledger++) node.close({});
    const first = await createFixture(node, { pageEvents: 1 });
    assert.equal((await first.watcher.turn()).outcome, "behind");
    node.reset(10);
    node.close({ contractId: OTHER_CONTRACT });
    const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT] });
    assert.equal((await again.watcher.turn()).outcome, "at_tip");
    const { epoch, contractIds, oldestLedger } = (await again.store.watcherState())!;
    assert.deepEqual([epoch, contractIds, oldestLedger], [1, OTHER_CONTRACT, 10]);
    const gaps = await again.store.gaps();
    assert.deepEqual(gaps.map(({ epoch, fromLedger, toLedger }) => [epoch, fromLedger, toLedger]), [[0, 5_020, 5_030]]);
    assert.equal((await readAll(again.history)).length, 21);
  });

  test("what is pruned while the contracts change is a gap where it was never read, and only there", async () => {
    for (const unread of [0, 2]) {
      const node = createSimulatedNode({ retention: 10 });
      const first = await createFixture(node);
      node.closeEmpty(20);
      await first.watcher.turn();
      const read = node.latest;
      // At the first look the node still holds all that was not read, before the first page it has pruned some of it.
      node.closeEmpty(8 + unread);
      const asked = node.requests.length;
      node.beforeCall = (method) => {
        if (method === "getEvents" && node.requests.length === asked + 1) node.closeEmpty(4);
      };
      const again = await createFixture(node, { store: first.store, contractIds: [OTHER_CONTRACT, CONTRACT] });
      assert.equal((await again.watcher.turn()).outcome, "at_tip");
      const gaps = (await again.store.gaps()).map(({ fromLedger, toLedger }) => [fromLedger, toLedger]);
      assert.deepEqual(gaps, [[read + 1, node.oldest - 1]]);
      assert.equal((await again.store.watcherState())!.oldestLedger, 1_011);
    }
  });

  test("a contract id less reads nothing again", async () => {
    const node = createSimulatedNode();
    node.close({});
    const first = await createFixture(node, { contractIds: [OTHER_CONTRACT, CONTRACT] });
    await first.watcher.turn();
    const asked = node.requests.length;
    const again = await createFixture(node, { store: first.store });
    await again.watcher.turn();
    assert.deepEqual(node.requests.slice(asked).map(({ startLedger }) => startLedger), [undefined]);
    assert.equal((await again.store.watcherState())!.contractIds, CONTRACT);
  });

  test("events that cannot be decoded are kept raw, told and passed over, and decoded after an upgrade", async () => {
    const node = createSimulatedNode();
    node.close({}, { decodable: false }, {});
    const old = await createFixture(node);
    await old.watcher.turn();
    assert.deepEqual(await readAll(old.history), [node.emitted[0]!.txHash, node.emitted[2]!.txHash]);
    assert.equal((await old.history.status()).undecodedEvents, 1);
    assert.deepEqual(old.problems.map(({ kind }) => kind), ["undecoded"]);

    const decode = (event: { value: string }) =>
      event.value === "?" ? { type: "escrow.swept", amount: "5" } : decodeSimulated(event);
    const upgraded = await createFixture(node, { store: old.store, decode });
    await upgraded.watcher.turn();
    assert.deepEqual(await readAll(upgraded.history), hashesOf(node.emitted));
    const [, swept] = (await upgraded.history.page({ limit: 10 })).events;
    assert.deepEqual([swept!.type, swept!.amount], ["escrow.swept", "5"]);
    assert.equal((await upgraded.history.status()).undecodedEvents, 0);
    assert.deepEqual(upgraded.problems.map(({ kind }) => kind), ["decoded"]);
  });
});

describe("events kept raw", () => {
  test("are all tried again once after a start, over turns, and those still unknown stay raw", async () => {
    const node = createSimulatedNode();
    for (let ledger = 0; ledger < 120; ledger++) node.close(...Array(10).fill({ decodable: false }));
    const old = await createFixture(node);
    for (let turns = 0; (await old.watcher.turn()).outcome !== "at_tip"; turns++) assert.ok(turns < 10);
    let asked = 0;
    const upgraded = await createFixture(node, {
      store: old.store,
      decode: () => asked++ % 2 === 0 ? { type: "escrow.swept" } : undefined,
    });
    await upgraded.watcher.turn();
    assert.equal(asked, 1_000);
    await upgraded.watcher.turn();
    await upgraded.watcher.turn();
    assert.equal(asked, 1_200);
    assert.equal((await readAll(upgraded.history)).length, 600);
    assert.equal((await upgraded.history.status()).undecodedEvents, 100);
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { createFixture, type FixtureOptions, hashesOf, readAll, simulate } from "./parts.ts";

const DAY_MS = 86_400_000;

/** A network, and a shared store with its own clock. */
async function sharedStage() {
  const { network, node, clock } = simulate();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  const gateway = (options: FixtureOptions = {}) => createFixture(network, { nodes: [node], store, ...options });
  return { network, node, clock, store, gateway };
}

/** The store of a process that can be killed: after that its calls never return. */
function mortalStore(store: Store) {
  let isDead = false;
  const hangs = () => new Promise(() => {});
  return {
    mortal: new Proxy(store, {
      get: (target, noun) => isDead ? new Proxy({}, { get: () => hangs }) : Reflect.get(target, noun),
    }),
    kill: () => void (isDead = true),
  };
}

/** A store whose appends wait while its gate is shut, as in a process that is paused. */
function gatedStore(store: Store) {
  let isShut = false;
  let open = () => {};
  let arrived = () => {};
  const events = Object.create(store.events, {
    append: {
      value: async (step: Parameters<Store["events"]["append"]>[0]) => {
        if (isShut) await new Promise<void>((resolve) => (open = resolve, arrived()));
        return await store.events.append(step);
      },
    },
  });
  return {
    gated: Object.create(store, { events: { value: events } }) as Store,
    /** Resolves when an append waits. */
    async shut(): Promise<void> {
      isShut = true;
      await new Promise<void>((resolve) => arrived = resolve);
    },
    open() {
      isShut = false;
      open();
    },
  };
}

describe("watchers of gateways that share a store", () => {
  test("have one leader; another one takes over within 17 s after a kill, and no event is lost or logged twice", async () => {
    const { network, clock, store, gateway } = await sharedStage();
    const { mortal, kill } = mortalStore(store);
    const [leader, other] = [await gateway({ store: mortal }), await gateway()];
    network.close({}, {});
    leader.watcher.start();
    await clock.wait(3_000);
    other.watcher.start();
    for (let seconds = 0; seconds < 60; seconds += 5) {
      network.close({});
      await clock.wait(5_000);
    }
    assert.deepEqual(hashesOf(network.emitted), await readAll(other.history));
    assert.equal(other.steps.length, 0, "the leader keeps its lease");
    assert.ok(other.head.sequence >= network.latest - 1, "the follower learns the new head");
    kill();
    network.close({});
    await clock.wait(17_000);
    assert.deepEqual(await readAll(other.history), hashesOf(network.emitted));
    await other.watcher.stop();
  });

  test("are fenced: a leader that was paused before its commit commits nothing after another leader has committed", async () => {
    const { network, clock, store, gateway } = await sharedStage();
    const gate = gatedStore(store);
    const [paused, other] = [await gateway({ store: gate.gated }), await gateway()];
    network.close({});
    paused.watcher.start();
    await clock.wait(3_000);
    network.close({}, {});
    await gate.shut();
    clock.pass(20_000);
    network.close({});
    await other.turn();
    await clock.wait(1_000);
    await other.turn();
    const seen = await readAll(other.history);
    assert.deepEqual(seen, hashesOf(network.emitted));
    const [commits, state] = [paused.steps.length, await other.state()];
    gate.open();
    await paused.watcher.stop();
    assert.equal(paused.steps.length, commits, "it was fenced");
    assert.deepEqual(await readAll(other.history), seen);
    assert.deepEqual(await other.state(), state);
    assert.deepEqual(paused.kinds(), [], "no report: another gateway leads");
  });

  test("work with a clock that is a day off: such a gateway takes no lease from a leader, and can lead", async () => {
    for (const aheadMs of [DAY_MS, -DAY_MS]) {
      const { network, clock, gateway } = await sharedStage();
      const off = { ...clock, now: () => clock.now() + aheadMs };
      const [leader, wrong] = [await gateway(), await gateway({ clock: off })];
      leader.watcher.start();
      wrong.watcher.start();
      for (let n = 0; n < 8; n++) {
        network.close({});
        await clock.wait(5_000);
      }
      assert.equal(wrong.steps.length, 0);
      await leader.watcher.stop();
      network.close({});
      await clock.wait(5_000);
      assert.deepEqual(await readAll(wrong.history), hashesOf(network.emitted));
      await wrong.watcher.stop();
    }
  });

  test("keep the lease during a long catch-up of 4 s per commit", async () => {
    const { network, clock, gateway } = await sharedStage();
    for (let ledger = 0; ledger < 12; ledger++) network.close({}, {});
    const polls: Promise<unknown>[] = [];
    const outcomes: string[] = [];
    const other = await gateway();
    const leader = await gateway({
      pageEvents: 2,
      beforeAppend() {
        clock.pass(4_000);
        polls.push(other.watcher.pollFor(0).then(({ outcome }) => outcomes.push(outcome)));
      },
    });
    const read = () => leader.steps.reduce((sum, { events }) => sum + events.length, 0);
    leader.watcher.start();
    for (let waits = 0; waits < 100 && read() < 24; waits++) await clock.wait(1_000);
    await leader.watcher.stop();
    await Promise.all(polls);
    assert.deepEqual(await readAll(leader.history), hashesOf(network.emitted));
    assert.equal(other.steps.length, 0);
    assert.ok(outcomes.length > 10 && outcomes.every((outcome) => outcome === "idle"), outcomes.join());
  });

  test("start one epoch for one reset when the leader changes after the reset", async () => {
    const { network, clock, gateway } = await sharedStage();
    const [leader, other] = [await gateway(), await gateway()];
    for (let ledger = 0; ledger < 20; ledger++) network.close({});
    leader.watcher.start();
    await clock.wait(3_000);
    other.watcher.start();
    await clock.wait(60_000);
    network.reset(10);
    const closeOne = async () => {
      network.close({});
      await clock.wait(5_000);
    };
    for (let ledger = 0; ledger < 8; ledger++) await closeOne();
    assert.equal((await leader.state()).epoch, 1);
    network.close({});
    while ((await leader.state()).scannedLedger < network.latest) await clock.wait(100);
    await leader.watcher.stop();
    for (let ledger = 0; ledger < 4; ledger++) await closeOne();
    assert.equal((await other.state()).epoch, 1, "there was one reset");
    assert.deepEqual(await readAll(other.history), hashesOf(network.emitted));
    await other.watcher.stop();
  });
});

describe("watchers that each run turns in their own process", () => {
  test("release the lease after the turn, and the next watcher waits for the lease", async () => {
    const { network, clock, gateway } = await sharedStage();
    network.close({});
    const [one, two] = [await gateway(), await gateway()];
    const outcomes = (await Promise.all([one.turn(), two.turn()])).map(({ outcome }) => outcome);
    assert.deepEqual(outcomes, ["idle", "idle"]);
    clock.pass(60_000);
    network.close({});
    const three = await gateway();
    assert.equal((await three.turn()).outcome, "idle");
    assert.deepEqual(await readAll(three.history), hashesOf(network.emitted));
  });

  test("find events that a node omitted, in a rescan by a later process", async () => {
    const { network, node, clock, gateway } = await sharedStage();
    const hidden = network.close({}, {}, {});
    node.omits.add(network.emitted[1]!.txHash);
    await (await gateway()).turn();
    node.omits.clear();
    for (let minute = 0; minute < 8; minute++) {
      clock.pass(60_000);
      network.close({});
      await (await gateway()).turn();
    }
    const last = await gateway();
    assert.ok((await last.state()).settledLedger >= hidden);
    const found = await readAll(last.history);
    assert.deepEqual(found.toSorted(), hashesOf(network.emitted).toSorted());
    assert.equal(new Set(found).size, found.length);
  });

  test("detect a reset by a ledger hash that an earlier process stored", async () => {
    const { network, clock, gateway } = await sharedStage();
    for (let minute = 0; minute < 3; minute++) {
      network.close({});
      await (await gateway()).turn();
      clock.pass(60_000);
    }
    assert.ok((await (await gateway()).state()).checkpoints.length > 0);
    network.reset(1_000);
    for (let ledger = 0; ledger < 30; ledger++) network.close({});
    for (let minute = 0; minute < 3; minute++) {
      await (await gateway()).turn();
      clock.pass(60_000);
    }
    const last = await gateway();
    assert.equal((await last.state()).epoch, 1);
    assert.deepEqual(await readAll(last.history), hashesOf(network.emitted));
  });

  test("decode a raw event once per decoder version, not once per process", async () => {
    const { network, gateway } = await sharedStage();
    for (let ledger = 0; ledger < 60; ledger++) network.close({ decodable: false }, { decodable: false });
    await (await gateway({ decoder: "1" })).turn();
    let tried = 0;
    const decode = () => void (tried += 1);
    for (let n = 0; n < 3; n++) await (await gateway({ decoder: "2", decode })).turn();
    assert.equal(tried, 120);
    const upgraded = await gateway({ decoder: "3", decode: () => ({ type: "escrow.funded" }) });
    await upgraded.turn();
    assert.equal((await upgraded.history.status()).undecodedEvents, 0);
    assert.deepEqual(await readAll(upgraded.history), hashesOf(network.emitted));
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { forTier } from "../tier.ts";
import { createFixture, hashesOf, readAll, restart, simulate, untilAtTip } from "./parts.ts";
import { rpcId } from "./simulated_node.ts";

describe("the watcher loses, repeats or renames no event", () => {
  const lies: [string, string, (answer: Record<string, unknown>) => Record<string, unknown>][] = [
    ["a latestLedger far too high (T3)", "getEvents", (answer) => ({ ...answer, latestLedger: 50_000 })],
    ["a high latestLedger within the bound (T3)", "getEvents", (answer) => ({
      ...answer,
      latestLedger: Number(answer.latestLedger) + 60,
      latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 40,
    })],
    ["a high latestLedger with a cursor at that ledger", "getEvents", (answer) => ({
      ...answer,
      latestLedger: Number(answer.latestLedger) + 60,
      cursor: rpcId(Number(answer.latestLedger) + 60, 0xfffff, 0xfff, 0xffffffff),
    })],
    ["a close time ten years ahead (T4)", "getEvents", (answer) => ({
      ...answer,
      latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 315_360_000,
    })],
    ["a lower ledger that closed later (T6)", "getEvents", (answer) => ({
      ...answer,
      latestLedger: 900,
      latestLedgerCloseTime: Number(answer.latestLedgerCloseTime) + 1_000,
      events: [],
      cursor: rpcId(899, 0, 0, 0),
    })],
    ["the highest possible ledger (T5)", "getHealth", (answer) => ({ ...answer, latestLedger: 2 ** 31 - 1 })],
    ["another hash of a ledger", "getLedgers", (answer) => ({
      ...answer,
      ledgers: (answer.ledgers as object[]).map((ledger) => ({ ...ledger, hash: "ab".repeat(32) })),
    })],
    ["an oldest ledger above all others", "getHealth", (answer) => ({ ...answer, oldestLedger: answer.latestLedger })],
    ["no events", "getEvents", (answer) => ({ ...answer, events: [] })],
  ];
  for (const [what, method, bend] of lies) {
    test(`after one wrong answer with ${what}, early or late in a gateway's life`, async () => {
      for (let lieAt = 0; lieAt < 9; lieAt += forTier({ test: 4, all: 1 })) {
        const { network, node } = simulate();
        let calls = 0;
        node.bend = (asked, answer) => asked === method && calls++ === lieAt ? bend(answer) : answer;
        let fixture = await createFixture(network, { nodes: [node] });
        for (let round = 0; round < 16; round++) {
          network.close({}, {});
          if (round % 3 === 2) network.closeEmpty(1);
          await fixture.watcher.pollFor(5_000);
          if (round === 8) fixture = await restart(fixture);
        }
        // A rescan finds events that a page omitted.
        for (let minutes = 0; minutes < 12; minutes++) {
          fixture.clock.pass(31_000);
          await untilAtTip(fixture);
        }
        assert.deepEqual((await readAll(fixture.history)).sort(), hashesOf(network.emitted), `lie in answer ${lieAt}`);
        const { epoch, gaps, scannedLedger } = await fixture.state();
        assert.deepEqual({ epoch, gaps, scannedLedger }, { epoch: 0, gaps: [], scannedLedger: network.latest });
        assert.equal(fixture.head.sequence, network.latest);
        await fixture.store.close();
      }
    });
  }

  test("when one node omits an event: a rescan some minutes later finds it at the other node and reports it (T13)", async () => {
    const { network, node } = simulate();
    const other = network.node();
    const fixture = await createFixture(network, { nodes: [node, other] });
    await untilAtTip(fixture);
    network.close({}, {}, {});
    node.omits.add(network.emitted[1]!.txHash);
    await untilAtTip(fixture);
    const { events, cursor } = await fixture.history.page({ limit: 10 });
    assert.deepEqual(hashesOf(events), [network.emitted[0]!.txHash, network.emitted[2]!.txHash]);
    for (let polls = 0; polls < 60; polls++) {
      network.close();
      await fixture.watcher.pollFor(0);
    }
    assert.deepEqual(hashesOf((await fixture.history.page({ cursor, limit: 10 })).events), [
      network.emitted[1]!.txHash,
    ]);
    const repaired = fixture.problems.filter(({ kind }) => kind === "repaired");
    assert.deepEqual(repaired.map((notice) => "events" in notice && notice.events), [1]);
  });

  for (
    const [what, stepMs] of [["seconds", 7_000], ["an hour", 3.6e6], ["a day", 86.4e6], [
      "forty days",
      40 * 86.4e6,
    ]] as const
  ) {
    for (const sign of [1, -1]) {
      test(`when the clock moves ${what} ${sign > 0 ? "ahead" : "back"}, and reports steps of more than a minute`, async () => {
        const { network, node, clock } = simulate();
        let fixture = await createFixture(network, { nodes: [node] });
        const live = async () => {
          for (let round = 0; round < 12; round++) {
            network.close({});
            await fixture.watcher.pollFor(4_000);
          }
        };
        await live();
        clock.step(sign * stepMs);
        const calls = node.calls.length;
        await live();
        assert.ok(node.calls.length - calls < 60, "no storm of calls (T14)");
        assert.equal(fixture.kinds().includes("clock_disagrees"), stepMs > 60_000);
        assert.ok(Math.abs(fixture.head.networkSeconds() - network.closeTime) <= 10);
        fixture = await restart(fixture);
        await live();
        assert.deepEqual(await readAll(fixture.history), hashesOf(network.emitted));
        assert.ok(Math.abs(fixture.head.networkSeconds() - network.closeTime) <= 10);
        const { clockDisagreesBySeconds } = await fixture.history.status();
        assert.equal(clockDisagreesBySeconds === null, stepMs <= 60_000);
      });
    }
  }
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { firstState } from "../../lib/events/coverage.ts";
import { createFormerNetworkCheck, hasLedger } from "../../lib/events/former_network.ts";
import type { RpcClient } from "../../lib/stellar/rpc/client.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { fakeClock } from "../stellar/rpc/stub_rpc.ts";
import { createFixture, follow, simulate, untilAtTip } from "./parts.ts";

describe("the ledger by which a former network is told", () => {
  test("it is told by a ledger that one answer has named, where the network was reset before a second one did", async () => {
    const { network, node } = simulate({ first: 5_000 });
    network.close({});
    const fixture = await createFixture(network, { nodes: [node] });
    await untilAtTip(fixture);
    const { anchor, nextAnchor } = await fixture.state();
    assert.equal(anchor, undefined);
    network.reset(10);
    network.close({});
    await untilAtTip(fixture);
    assert.deepEqual((await fixture.state()).formerAnchor, { ledger: nextAnchor!.ledger, hash: nextAnchor!.hash });
  });

  test("nothing is taken for a ledger of it that may still be there, when the node does not tell", async () => {
    const { network, node, fixture } = await follow(simulate(), 10);
    for (let ledger = 0; ledger < 10; ledger++) network.close({});
    await untilAtTip(fixture);
    network.goBack(3, 15);
    let asked = 0;
    // Both looks are answered.
    node.beforeCall = (method) => {
      if (method === "getLedgers" && ++asked === 3) throw new Response("not now", { status: 503 });
    };
    for (let turns = 0; turns < 4; turns++) {
      await fixture.turn();
      fixture.clock.pass(1_000);
    }
    const { epoch, formerAnchor } = await fixture.state();
    assert.deepEqual([epoch, formerAnchor], [1, undefined]);
    assert.ok(asked >= 3);
  });

  test("nor by one wrong hash, as of a network that went back to a snapshot: its gaps would be filled by no node", async () => {
    const { network, node, fixture } = await follow(simulate(), 10);
    for (let ledger = 0; ledger < 10; ledger++) network.close({});
    await untilAtTip(fixture);
    const { anchor } = await fixture.state();
    network.goBack(3, 15);
    let asked = 0;
    // Both looks are answered.
    node.bend = (method, answer) =>
      method === "getLedgers" && ++asked === 3
        ? { ...answer, ledgers: [{ sequence: anchor!.ledger, hash: "e".repeat(64) }] }
        : answer;
    for (let turns = 0; turns < 4; turns++) {
      await fixture.turn();
      fixture.clock.pass(1_000);
    }
    const { epoch, formerAnchor } = await fixture.state();
    assert.deepEqual([epoch, formerAnchor], [1, undefined]);
    assert.ok(asked >= 3);
  });

  /** The check, as of a node that tells what is set last: that it has the ledger, that it has not, or nothing. */
  function check() {
    const clock = fakeClock();
    const view = { overturned: 0, confirmed: { sequence: 5, closeTime: 50 } };
    let says: "former" | "new" | "nothing" = "nothing";
    let liesNow = false;
    const getLedgers: RpcClient["getLedgers"] = () => {
      if (says === "nothing") return Promise.reject(new Error("timeout"));
      const ledgers = [{ sequence: 4, hash: says === "former" && !liesNow ? "aa" : "bb", ledgerCloseTime: 40 }];
      liesNow = false;
      return Promise.resolve({ ledgers, latestLedger: 5, oldestLedger: 1 });
    };
    const isShown = createFormerNetworkCheck({
      rpc: { getLedgers, nodes: () => [] },
      view,
      clock,
      patienceMs: () => 60_000,
    });
    const formerAnchor = { ledger: 4, hash: "aa" };
    const state = { ...firstState(["A"], 1), latestLedgerCloseTime: 50, formerAnchor };
    return {
      clock,
      view,
      set: (to: typeof says) => void (says = to),
      lie: () => void (liesNow = true),
      ask: (isPruned = false) => isShown(state, { isPruned, signal: AbortSignal.timeout(5_000) }),
    };
  }

  test("a node that does not tell is waited for, a minute at most, and anew once it has told", async () => {
    const { clock, view, set, ask } = check();
    for (const overturned of [1, 2]) {
      view.overturned = overturned;
      set("nothing");
      await assert.rejects(ask(), /timeout/);
      clock.pass(59_000);
      await assert.rejects(ask(), /timeout/);
      clock.pass(2_000);
      assert.equal(await ask(), false);
      set("former");
      assert.equal(await ask(), true);
      set("nothing");
      await assert.rejects(ask(), /timeout/, "it told a moment ago");
      set("new");
      assert.equal(await ask(), false);
    }
  });

  test("one wrong answer does not make the former network another", async () => {
    const { view, set, lie, ask } = check();
    view.overturned = 1;
    set("former");
    for (let times = 0; times < 3; times++) {
      assert.equal(await ask(), true);
      lie();
      assert.equal(await ask(true), true);
    }
  });

  test("and anew when it was not asked in between", async () => {
    const { clock, ask } = check();
    for (let times = 0; times < 3; times++) {
      await assert.rejects(ask(true), /timeout/);
      clock.pass(120_000);
      assert.equal(await ask(), false);
    }
  });

  test("a node that is past that ledger, or knows no such method, has it not; one in trouble does not tell", async () => {
    const ask = (code: number, message: string) => {
      const rpc = { getLedgers: () => Promise.reject(new RpcError("getLedgers", code, message)) };
      return hasLedger(rpc, { ledger: 4, hash: "aa" }, { node: 0, signal: AbortSignal.timeout(5_000) });
    };
    assert.equal(await ask(-32600, "startLedger must be within the ledger range: 5 - 9"), false);
    assert.equal(await ask(-32601, "method not found"), false);
    await assert.rejects(() => ask(-32603, "database is locked"), RpcError);
  });
});

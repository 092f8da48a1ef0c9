// needs: neutral
import fc from "fast-check";
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  createNodeHealth,
  NODE_HEALTH_LIMITS as LIMITS,
  type NodeHealth,
} from "../../../lib/stellar/rpc/node_health.ts";

const START_MS = 1_800_000_000_000;

/** Nodes on a clock of their own: `at` moves it on, in seconds since the start. */
function nodes(count: number) {
  let nowMs = START_MS;
  let newest = 0;
  const reported: string[] = [];
  const health = createNodeHealth({
    nodes: count,
    nowMs,
    onChange: (node, { condition }) => reported.push(`${node} ${condition}`),
  });
  return {
    health,
    reported,
    now: () => nowMs,
    at: (seconds: number) => void (nowMs = START_MS + seconds * 1000),
    fail: (node: number) => health.failed(node, nowMs, nowMs, "does not answer"),
    /** A good answer so many seconds after the start. */
    answerAt(seconds: number, node: number, closedAt?: number) {
      this.at(seconds);
      this.answer(node, closedAt);
    },
    answer(node: number, closedAt?: number) {
      const closeTime = START_MS / 1000 + (closedAt ?? 0);
      if (closedAt !== undefined) newest = Math.max(newest, closeTime);
      health.answered(node, nowMs, closedAt === undefined ? undefined : { closeTime, newest });
    },
    first: () => health.order()[0],
    condition: (node: number) => health.state(node).condition,
  };
}

/** Fails until the node is left. */
function leave(on: ReturnType<typeof nodes>, node: number): void {
  for (let strikes = 0; strikes < LIMITS.strikes; strikes++) on.fail(node);
}

describe("the health of RPC nodes", () => {
  test("prefers the first node of the list while all are healthy", () => {
    assert.deepEqual(nodes(3).health.order(), [0, 1, 2]);
  });

  test("demotes a node at its first failure without a report, and restores it at its first good answer", () => {
    const on = nodes(2);
    on.fail(0);
    assert.deepEqual(on.health.order(), [1, 0]);
    on.at(1);
    assert.deepEqual(on.health.takeProbes(on.now()), [0]);
    on.answer(0);
    on.health.probed(0, on.now());
    assert.deepEqual(on.health.order(), [0, 1]);
    assert.deepEqual(on.reported, []);
  });

  test("counts concurrent failed calls as one failure", () => {
    const on = nodes(2);
    const startedAtMs = on.now();
    on.at(5);
    for (let call = 0; call < 50; call++) on.health.failed(0, startedAtMs, on.now(), "does not answer");
    assert.equal(on.condition(0), "doubted");
  });

  test("leaves a node at its third failure, reports it once, and returns after 30 s of good answers", () => {
    const on = nodes(2);
    leave(on, 0);
    on.fail(0);
    assert.deepEqual([on.condition(0), on.first(), on.reported], ["failing", 1, ["0 failing"]]);
    on.answerAt(10, 0);
    on.answerAt(39, 0);
    assert.equal(on.first(), 1);
    on.answerAt(40, 0);
    assert.deepEqual([on.condition(0), on.first(), on.reported], ["well", 0, ["0 failing", "0 well"]]);
  });

  test("restarts the 30 s when a node fails again before its return", () => {
    const on = nodes(2);
    leave(on, 0);
    on.answerAt(10, 0);
    on.at(35);
    on.fail(0);
    on.answerAt(36, 0);
    on.answerAt(65, 0);
    assert.equal(on.first(), 1);
    on.answerAt(66, 0);
    assert.equal(on.first(), 0);
  });

  test("doubles the waiting time at each leave, up to 600 s, and resets it after a long healthy period", () => {
    const on = nodes(2);
    let seconds = 0;
    const waited = () => {
      leave(on, 0);
      const from = seconds;
      for (on.answer(0); on.first() !== 0; on.answer(0)) on.at(++seconds);
      return seconds - from;
    };
    assert.deepEqual(Array.from({ length: 7 }, waited), [30, 60, 120, 240, 480, 600, 600]);
    on.at(seconds += 1_200);
    assert.equal(waited(), 30);
  });

  test("keeps a node that fails one call in thirty, and leaves one that fails every tenth", () => {
    for (const [every, expected] of [[30, "well"], [10, "failing"]] as const) {
      const on = nodes(2);
      for (let call = 1; call <= 600; call++) {
        on.at(call);
        if (call % every === 0) on.fail(0);
        else on.answer(0);
      }
      assert.equal(on.reported.at(0) ?? "0 well", `0 ${expected}`);
    }
  });

  test("leaves a node whose latest ledger stays older than another's, not one that lags for a moment", () => {
    const on = nodes(2);
    on.answer(0, 0);
    on.answer(1, 20);
    on.answerAt(1, 0, 1);
    on.answerAt(9, 0, 19);
    on.answerAt(21, 1, 40);
    on.answer(0, 19);
    assert.equal(on.condition(0), "well");
    on.answerAt(31, 0, 19);
    assert.deepEqual([on.condition(0), on.first(), on.reported], ["lagging", 1, ["0 lagging"]]);
    assert.equal(on.health.state(0).lagSeconds, 21);
    on.answerAt(40, 0, 40);
    on.answerAt(70, 0, 70);
    assert.deepEqual([on.condition(0), on.first()], ["well", 0]);
  });

  test("prefers the node with the latest good answer when no node is healthy", () => {
    const on = nodes(3);
    for (const node of [0, 1, 2]) leave(on, node);
    assert.deepEqual(on.health.order(), [0, 1, 2]);
    on.answer(1);
    assert.deepEqual(on.health.order(), [1, 0, 2]);
  });

  test("a single node is healthy at its first good answer", () => {
    const on = nodes(1);
    leave(on, 0);
    on.answer(0);
    assert.deepEqual([on.condition(0), on.reported], ["well", ["0 failing", "0 well"]]);
    on.at(100);
    assert.deepEqual(on.health.takeProbes(on.now()), []);
  });

  test("probes an idle node slowly, a failing one soon and then less and less often, and one at a time", () => {
    const on = nodes(2);
    on.at(14);
    assert.deepEqual(on.health.takeProbes(on.now()), []);
    on.at(15);
    assert.deepEqual(on.health.takeProbes(on.now()), [1]);
    on.at(100);
    assert.deepEqual(on.health.takeProbes(on.now()), []);
    const probedAt: number[] = [];
    on.fail(1);
    on.health.probed(1, on.now());
    for (let seconds = 100; seconds < 400; seconds++) {
      on.at(seconds);
      if (on.health.takeProbes(on.now()).length === 0) continue;
      probedAt.push(seconds - 100);
      on.fail(1);
      on.health.probed(1, on.now());
    }
    assert.deepEqual(probedAt, [1, 3, 7, 15, 31, 63, 123, 183, 243]);
  });
});

type Step = { node: number; good: boolean; lagSeconds: number; seconds: number };
const steps = fc.array(
  fc.record({ node: fc.nat(2), good: fc.boolean(), lagSeconds: fc.constantFrom(0, 5, 40), seconds: fc.nat(20) }),
  { minLength: 1, maxLength: 400, size: "max" },
);

/** Applies the steps, and calls `after` at each of them. */
function walk(steps: Step[], after: (health: NodeHealth, seconds: number, reported: string[]) => void) {
  const on = nodes(3);
  let seconds = 0;
  for (const { node, good, lagSeconds, seconds: passed } of steps) {
    on.at(seconds += passed);
    if (good) on.answer(node, seconds - lagSeconds);
    else on.fail(node);
    after(on.health, seconds, on.reported);
  }
  return { ...on, seconds };
}

describe("for any behaviour of the nodes", () => {
  test("the order has every node, healthy ones first, each group in the order of the list", () => {
    fc.assert(fc.property(steps, (steps) => {
      walk(steps, (health) => {
        const order = health.order();
        assert.deepEqual([...order].sort(), [0, 1, 2]);
        const well = order.filter((node) => health.state(node).condition === "well");
        assert.deepEqual(order.slice(0, well.length), [...well].sort());
      });
    }));
  });

  test("an unstable node returns after 30 s at the earliest, and later each time", () => {
    fc.assert(fc.property(steps, (steps) => {
      const changes: { node: number; kind: string; seconds: number }[] = [];
      const { seconds } = walk(steps, (_, seconds, reported) => {
        for (const change of reported.slice(changes.length)) {
          const [node, kind] = change.split(" ") as [string, string];
          changes.push({ node: Number(node), kind, seconds });
        }
      });
      for (const node of [0, 1, 2]) {
        const own = changes.filter((change) => change.node === node);
        own.forEach(({ kind, seconds }, index) => {
          assert.equal(kind === "well", index % 2 === 1, JSON.stringify(own));
          if (kind === "well") assert.ok(seconds - own[index - 1]!.seconds >= LIMITS.returnMs / 1000);
        });
        // Left n times, it was away for 30 + 60 + 120 … seconds: half an hour holds six times, and three more each.
        assert.ok(own.length <= 2 * (6 + seconds / (LIMITS.longestReturnMs / 1000)) + 1, JSON.stringify(own));
      }
    }));
  });

  test("the client uses the first node again once it has been healthy for its return time", () => {
    fc.assert(fc.property(steps, (steps) => {
      const on = walk(steps, () => {});
      for (let seconds = 0; seconds <= LIMITS.longestReturnMs / 1000; seconds++) {
        on.at(on.seconds + seconds);
        on.answer(0, on.seconds + seconds);
      }
      assert.equal(on.first(), 0);
    }));
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createHead } from "../../lib/stellar/head.ts";
import type { Answer } from "../../lib/stellar/observe.ts";
import { fakeClock } from "./rpc/stub_rpc.ts";

/** Unix seconds of the close of the head that was stored. */
const T = 1_800_000_000;

/** A head on a clock that only the test moves, and the head's requests. */
function stage({ stored = { sequence: 5_000, closeTime: T }, wallOff = 0 }: {
  stored?: { sequence: number; closeTime: number } | undefined;
  wallOff?: number;
} = {}) {
  const clock = fakeClock((T + wallOff) * 1_000);
  let next: (Answer & { node?: number })[] = [];
  const asked: (number | undefined)[] = [];
  const head = createHead({
    clock,
    stored,
    ask(node) {
      asked.push(node);
      const answer = next.shift();
      if (answer !== undefined) head.observe({ node: node ?? 0, ...answer });
      return Promise.resolve();
    },
  });
  return { clock, head, asked, say: (...answers: Answer[]) => void (next = answers) };
}

test("the minimum ledger rises with shown or confirmed ledgers, and never above the head", () => {
  const { head } = stage();
  assert.equal(head.minimum, 5_000);
  head.observe({ sequence: 5_001, closeTime: T + 5 });
  head.observe({ sequence: 5_002, closeTime: T + 10 });
  assert.equal(head.minimum, 5_000);
  head.show(5_001);
  head.show(4_990);
  assert.equal(head.minimum, 5_001);
  head.show(5_004);
  assert.equal(head.minimum, 5_002);
  head.confirm(5_003);
  assert.deepEqual([head.sequence, head.minimum], [5_003, 5_003]);
  head.confirm(2 ** 30);
  assert.deepEqual([head.sequence, head.minimum], [5_003, 5_003]);
});

test("the minimum ledger falls with the head", () => {
  const { head, clock } = stage();
  head.show(5_000);
  for (let second = 0; second <= 30; second += 10) {
    head.observe({ sequence: 4_990, closeTime: T - 50 });
    clock.pass(10_000);
  }
  assert.deepEqual([head.sequence, head.minimum], [4_990, 4_990]);
});

test("a new epoch begins with its own head and minimum", () => {
  const { head } = stage();
  head.show(5_000);
  head.restart({ sequence: 3, closeTime: T + 10 });
  assert.deepEqual([head.sequence, head.closeTime, head.minimum], [3, T + 10, 3]);
});

test("a caller stops waiting at its ledger, or when the head falls", async () => {
  const { head, say } = stage();
  say({ sequence: 5_000, closeTime: T }, { sequence: 5_001, closeTime: T });
  await head.wait(5_001, 60_000);
  assert.equal(head.sequence, 5_001);
  const waiting = head.wait(5_900, 60_000);
  head.restart({ sequence: 3, closeTime: T + 10 });
  await waiting;
  await head.wait(5_900, 100);
});

test("after an implausible height without a time the head asks the same node for its time", async () => {
  const { head, asked, say } = stage();
  say({ sequence: 5_000, closeTime: T });
  assert.equal(head.observe({ node: 3, sequence: 2 ** 30 }), "odd");
  await Promise.resolve();
  assert.deepEqual(asked, [3]);
});

test("on an empty store the head asks for a second answer at once", async () => {
  const { head, asked, say } = stage({ stored: { sequence: 0, closeTime: 0 } });
  say({ sequence: 700, closeTime: T });
  assert.equal(head.observe({ node: 1, sequence: 700, closeTime: T }), "odd");
  await Promise.resolve();
  assert.deepEqual(asked, [1]);
  assert.equal(head.sequence, 700);
});

test("an odd answer starts a comparison", () => {
  const { head } = stage();
  let called = 0;
  head.onOdd(() => called += 1);
  head.observe({ sequence: 40, closeTime: T + 1 });
  head.observe({ sequence: 4_999, closeTime: T - 5 });
  assert.equal(called, 1);
});

test("an odd answer becomes the head only after a comparison with its own node", () => {
  const { head, clock } = stage();
  head.onOdd(() => {});
  const say = (second: number) => head.observe({ node: 1, sequence: 40 + second, closeTime: T + 1 + second });
  assert.equal(say(0), "odd");
  head.ruledOutReset(clock.monotonicMs(), 0);
  clock.pass(3_000);
  assert.equal(say(3), "odd");
  head.ruledOutReset(clock.monotonicMs(), 1);
  clock.pass(3_000);
  assert.equal(say(6), "newer");
  assert.equal(head.sequence, 46);
});

// --- the network's time ------------------------------------------------------------------------------------------------

test("the network's time is the gateway's clock when the two agree within a minute", async () => {
  const { head, say, clock } = stage({ wallOff: 30 });
  say({ sequence: 5_000, closeTime: T });
  assert.equal(await head.certainTime(), T + 30);
  assert.equal(head.clockDisagreement(), undefined);
  assert.equal(clock.monotonicMs(), 0);
});

test("while the gateway's clock is a day ahead, the network's time waits for the next ledger (H19)", async () => {
  const { head, say, clock } = stage({ wallOff: 86_400 });
  const at = (second: number) => ({ sequence: 5_000 + Math.floor(second / 5), closeTime: T + second });
  say(at(0), at(0), at(0), at(5), at(5), at(5));
  assert.equal(await head.certainTime(), T + 5);
  assert.ok(clock.monotonicMs() < 8_000);
  assert.equal(head.clockDisagreement(), T + 5 - Math.round(clock.now() / 1_000));
});

test("when the network closes no ledger for 8 s, its time is the later one of both clocks (H18)", async () => {
  const { head, say, clock } = stage({ wallOff: 86_400 });
  say(...Array.from({ length: 40 }, () => ({ sequence: 5_000, closeTime: T })));
  const seconds = await head.certainTime();
  assert.ok(clock.monotonicMs() >= 8_000 && clock.monotonicMs() < 9_000);
  assert.equal(seconds, Math.floor(clock.now() / 1_000));
  const slow = stage({ wallOff: -86_400 });
  slow.say(...Array.from({ length: 40 }, () => ({ sequence: 5_000, closeTime: T })));
  assert.equal(await slow.head.certainTime(), T + Math.floor(slow.clock.monotonicMs() / 1_000));
});

test("time without requests does not count as time without a ledger", async () => {
  const { head, say, clock } = stage({ wallOff: 86_400 });
  head.observe({ node: 0, sequence: 5_000, closeTime: T });
  // The process was suspended.
  clock.pass(60_000);
  say({ sequence: 5_012, closeTime: T + 60 });
  assert.equal(await head.certainTime(), T + 60);
});

test("answers of a lagging node do not count as time without a ledger", async () => {
  const { head, say, clock } = stage({ wallOff: 86_400 });
  const [newest, older] = [{ sequence: 5_000, closeTime: T }, { sequence: 4_999, closeTime: T - 5 }];
  say(newest, ...Array.from({ length: 5 }, () => older), ...Array.from({ length: 30 }, () => newest));
  await head.certainTime();
  assert.ok(clock.monotonicMs() >= 10_000, `it rests after ${clock.monotonicMs()} ms`);
});

test("after a ledger has closed, a step of the gateway's clock does not change the network's time", async () => {
  const { head, clock, say } = stage();
  say({ sequence: 5_000, closeTime: T }, { sequence: 5_001, closeTime: T + 5 });
  await head.certainTime();
  clock.pass(5_000);
  head.observe({ node: 0, sequence: 5_001, closeTime: T + 5 });
  clock.step(86_400_000);
  assert.equal(await head.certainTime(), T + 5);
  assert.equal(head.clockDisagreement(), -86_400);
});

test("a head stored before the start does not count as a ledger that closed after the start", async () => {
  const { head, say, clock } = stage({ stored: { sequence: 4_000, closeTime: T - 5_000 }, wallOff: 86_400 });
  say(...Array.from({ length: 40 }, () => ({ sequence: 5_000, closeTime: T })));
  await head.certainTime();
  assert.ok(clock.monotonicMs() >= 8_000);
});

test("without a time from the nodes the network's time is the gateway's clock", async () => {
  const { head, say } = stage({ stored: { sequence: 5_000, closeTime: 0 }, wallOff: 100 });
  say({ sequence: 5_000 });
  assert.equal(await head.certainTime(), T + 100);
});

test("first() asks the nodes for a ledger while the store has none", async () => {
  const { head, say } = stage({ stored: { sequence: 0, closeTime: 0 } });
  await assert.rejects(head.first(), { code: "upstream_error" });
  say({ sequence: 2 ** 30, closeTime: T }, { sequence: 700, closeTime: T }, { sequence: 700, closeTime: T });
  assert.equal(await head.first(), 700);
});

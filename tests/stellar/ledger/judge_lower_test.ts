// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { STORED } from "../../../lib/stellar/ledger/belief.ts";
import { JUDGE_LIMITS } from "../../../lib/stellar/ledger/judge.ts";
import { stage, START } from "./judge_stage.ts";

describe("the judge of claims, when ledgers are lower than before", () => {
  test("a lower ledger that closed later changes nothing by one answer, and is followed by two (T6)", () => {
    const on = stage();
    on.pass(10);
    assert.equal(on.hear({ sequence: 7, closeTime: on.truth().closeTime + 20 }), "lagging");
    on.pass(120);
    assert.ok(on.isTrue());
    const closeTime = on.truth().closeTime + 20;
    on.hear({ sequence: 7, closeTime });
    on.clock.pass(1_900);
    assert.equal(on.hear({ sequence: 7, closeTime }), "lagging", "too soon to confirm");
    on.clock.pass(100);
    assert.equal(on.hear({ sequence: 8, closeTime: closeTime + 2 }), "current");
    assert.deepEqual([on.view.sequence, on.view.closeTime], [8, closeTime + 2]);
  });

  test("one node's word is followed against another that has shown one ledger for minutes, if our own clock agrees with it", () => {
    for (const clockOff of [0, 3_600]) {
      const on = stage({ nodes: 2, clockOff });
      on.pass(10);
      const former = on.truth();
      const followedAfter = [...Array(600).keys()].find((seconds) => {
        on.clock.pass(1_000);
        on.hear({ node: 0, ...former });
        return on.hear({ node: 1, sequence: 7 + Math.floor(seconds / 5), closeTime: on.truth().closeTime }) ===
          "current";
      });
      if (clockOff > 0) assert.equal(followedAfter, undefined);
      else assert.ok(followedAfter! >= 295 && followedAfter! <= 320, `after ${followedAfter} s`);
    }
  });

  test("a node that falls behind by a few ledgers takes nothing back that one answer has shown, while it may be true", () => {
    for (const nodes of [1, 2]) {
      for (const lag of [1, 2, 3]) {
        const on = stage({ nodes });
        on.pass(4);
        // As of a gateway that asks seldom: what is confirmed is some ledgers old.
        on.clock.pass(5_000 * lag + 500);
        const newest = on.truth();
        assert.equal(on.hear(newest), "current");
        for (let seconds = 0; seconds < 5 * lag + 10; seconds++) {
          on.clock.pass(1_000);
          on.hear(on.truth(lag));
          assert.ok(on.view.sequence >= newest.sequence, `${on.view.sequence} after ${seconds} s`);
        }
        assert.equal(on.view.sequence, on.truth(lag).sequence);
      }
    }
  });

  test("nor does one that falls far behind at once, and comes back ledger by ledger", () => {
    const on = stage();
    on.pass(102);
    on.clock.pass(3_000);
    const shown = on.truth();
    assert.equal(on.hear(shown), "current");
    assert.equal(on.view.confirmed.sequence, shown.sequence - 1);
    for (let seconds = 0; seconds < 60; seconds++) {
      on.clock.pass(1_000);
      const behind = Math.max(0, 5 - Math.floor(seconds / 10));
      on.hear({ sequence: shown.sequence - behind, closeTime: shown.closeTime - 5 * behind });
      assert.equal(on.view.sequence, shown.sequence);
    }
  });

  test("what a lagging node said before counts for nothing against what it has shown since", () => {
    const on = stage();
    on.pass(102);
    const lagging = on.truth();
    on.clock.pass(38_000);
    const shown = on.truth();
    for (const [claim, afterMs] of [[shown, 200], [lagging, 700], [shown, 1_600], [lagging, 1_000]] as const) {
      on.hear(claim);
      on.clock.pass(afterMs);
    }
    assert.equal(on.view.sequence, shown.sequence);
  });

  test("one ledger too many at a network that then closes none is taken back after eighteen seconds", () => {
    const on = stage();
    on.pass(101);
    const last = on.truth();
    on.hear({ sequence: last.sequence + 1, closeTime: last.closeTime + 5 });
    for (let seconds = 0; seconds < 30; seconds++) {
      on.clock.pass(1_000);
      on.hear(last);
      on.hear({ node: STORED, sequence: last.sequence - 2, closeTime: last.closeTime - 10 });
      if (seconds < 15) assert.equal(on.view.sequence, last.sequence + 1);
    }
    assert.equal(on.view.sequence, last.sequence);
  });

  test("and after five minutes where a node lags besides", () => {
    const on = stage();
    on.pass(101);
    const last = on.truth();
    on.hear({ sequence: last.sequence + 1, closeTime: last.closeTime + 5 });
    const say = (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        on.clock.pass(1_000);
        on.hear(last);
        if (second % 5 === 0) on.hear({ sequence: last.sequence - 2, closeTime: last.closeTime - 10 });
      }
    };
    say(290);
    assert.equal(on.view.sequence, last.sequence + 1);
    say(20);
    assert.equal(on.view.sequence, last.sequence);
  });

  test("one ledger too many at a network that rests is taken back within seconds", () => {
    for (const nodes of [1, 2]) {
      const on = stage({ nodes });
      const said = { sequence: 1_000, closeTime: START };
      const rest = () => {
        on.clock.pass(1_000);
        for (let node = 0; node < nodes; node++) on.hear({ node, ...said });
      };
      for (let seconds = 0; seconds < 30; seconds++) rest();
      on.hear({ sequence: 1_001, closeTime: START + 30 });
      for (let seconds = 0; seconds < 6; seconds++) rest();
      assert.equal(on.view.sequence, 1_000);
    }
  });

  test("the network before a reset, numbered higher and closed earlier, is not gone back to", () => {
    const on = stage({ firstSequence: 5_000 });
    on.pass(10);
    const reset = (seconds: number) => ({ sequence: 20 + seconds, closeTime: START + 30 + seconds });
    on.hear(reset(0));
    on.clock.pass(3_000);
    assert.equal(on.hear(reset(3)), "current");
    for (let times = 0; times < 5; times++) {
      assert.equal(on.hear({ sequence: 5_003, closeTime: START + 15 }), "lagging");
      on.clock.pass(3_000);
    }
    assert.equal(on.view.sequence, 23);
  });

  test("a network whose own clock says that it went back is followed at once, also by one ledger that was just shown", () => {
    const on = stage();
    on.pass(101);
    on.clock.pass(4_500);
    const shown = on.truth();
    on.hear(shown);
    on.clock.step(-5_000);
    on.tellRevert();
    const back = () => ({ sequence: on.truth().sequence - 1, closeTime: on.truth().closeTime - 5 });
    for (let seconds = 0; seconds < 3; seconds++) {
      on.hear(back());
      on.clock.pass(1_000);
    }
    assert.equal(on.view.sequence, back().sequence);
    assert.ok(on.view.sequence < shown.sequence);
  });

  test("a lagging node beside a clock that is set back is not the network gone back, but where the network's own clock says so", () => {
    for (const isTold of [true, false]) {
      const on = stage();
      on.pass(100);
      const [from, backSeconds] = [on.truth(), 30];
      on.clock.step(-backSeconds * 1000);
      if (isTold) on.tellRevert();
      const back = () => ({
        sequence: on.truth().sequence - backSeconds / 5,
        closeTime: on.truth().closeTime - backSeconds,
      });
      for (let seconds = 0; seconds < 4; seconds++) {
        on.hear(back());
        on.clock.pass(1_000);
      }
      assert.equal(on.view.sequence, isTold ? back().sequence : from.sequence);
      assert.equal(on.view.wentBackFrom !== undefined, isTold);
    }
  });

  for (const backSeconds of [30, 3_600]) {
    for (const apartSeconds of [1, 6]) {
      test(`an answer from before the network went back by ${backSeconds} s keeps nobody from following, asked every ${apartSeconds} s`, () => {
        const on = stage();
        on.pass(100);
        const onItsWay = on.truth();
        on.clock.step(-backSeconds * 1000);
        on.tellRevert();
        on.hear(onItsWay);
        const back = () => ({
          sequence: on.truth().sequence - backSeconds / 5,
          closeTime: on.truth().closeTime - backSeconds,
        });
        for (let asked = 0; asked < 4; asked++) {
          on.clock.pass(apartSeconds * 1_000);
          on.hear(back());
        }
        assert.equal(on.view.sequence, back().sequence);
        assert.notEqual(on.view.wentBackFrom, undefined);
      });
    }
  }

  test("what another gateway has read to, told again and again, takes nothing back that a node has shown", () => {
    const on = stage();
    on.pass(100);
    const { sequence, closeTime } = on.truth();
    on.clock.pass(20_000);
    const shown = on.truth();
    assert.equal(on.hear(shown), "current");
    for (let seconds = 0; seconds < JUDGE_LIMITS.forgottenMs / 1_000 + 10; seconds++) {
      on.clock.pass(1_000);
      on.hear({ node: STORED, sequence, closeTime });
    }
    assert.equal(on.view.sequence, shown.sequence);
  });

  test("a ledger in which something was applied is remembered for five minutes, while the network is the same", () => {
    const applied = (sequence?: number) => {
      const on = stage();
      on.pass(102, 20);
      on.clock.pass(3_000);
      on.hear(on.truth());
      on.view.hearApplied(sequence ?? on.view.sequence);
      return on;
    };
    assert.equal(applied(1_022).view.shownSequence, 0, "nobody has seen it");
    const overturned = applied();
    const shown = overturned.view.sequence;
    for (let seconds = 0; seconds < 10; seconds++) {
      overturned.clock.pass(1_000);
      overturned.hear(overturned.truth(8));
    }
    assert.deepEqual([overturned.view.sequence < shown, overturned.view.shownSequence], [true, shown]);
    overturned.clock.pass(290_000);
    assert.equal(overturned.view.shownSequence, 0);
    const reset = applied();
    for (let seconds = 0; seconds < 10; seconds++) {
      reset.clock.pass(1_000);
      reset.hear({ sequence: 7, closeTime: reset.truth().closeTime + 1 });
    }
    assert.deepEqual([reset.view.sequence, reset.view.shownSequence], [7, 0]);
  });
});

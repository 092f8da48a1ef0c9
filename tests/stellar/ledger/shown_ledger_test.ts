// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JUDGE_LIMITS } from "../../../lib/stellar/ledger/judge.ts";
import { createShownLedger } from "../../../lib/stellar/ledger/shown_ledger.ts";
import { fakeClock } from "../rpc/stub_rpc.ts";
import { stage, START } from "./judge_stage.ts";

describe("the newest ledger as of which anything was shown", () => {
  test("counts once a second claim speaks for it, a second later or of another node, before or after", () => {
    const counts: [string, (on: ReturnType<typeof stage>) => void, boolean][] = [
      ["nobody else", () => {}, false],
      ["the same node at once", (on) => on.hear(on.truth()), false],
      ["the same node, asked before", (on) => {
        const askedAtMs = on.clock.monotonicMs();
        on.clock.pass(1_500);
        on.hear({ ...on.truth(), askedAtMs });
      }, false],
      ["the same node a second later", (on) => {
        on.clock.pass(1_000);
        on.hear(on.truth());
      }, true],
      ["the same node, of less", (on) => {
        on.clock.pass(1_000);
        on.hear(on.truth(1));
      }, false],
      ["another node at once", (on) => on.hear({ ...on.truth(), node: 1 }), true],
    ];
    for (const [who, speak, isCounted] of counts) {
      const after = stage({ nodes: 2 });
      after.clock.pass(20_000);
      const { sequence } = after.truth();
      after.hear(after.truth());
      after.view.hearShown(sequence);
      assert.equal(after.view.shownSequence, 0);
      speak(after);
      assert.equal(after.view.shownSequence, isCounted ? sequence : 0, who);
      const before = stage({ nodes: 2 });
      before.clock.pass(20_000);
      before.hear(before.truth());
      speak(before);
      before.view.hearShown(sequence);
      assert.equal(before.view.shownSequence, isCounted ? sequence : 0, `before: ${who}`);
    }
  });

  test("counts at once where a transaction was applied in it, also before it is believed", () => {
    const on = stage({ clockOff: -86_400 });
    const { sequence } = on.truth();
    assert.equal(on.hear(on.truth()), "ahead");
    on.view.hearApplied(sequence + 1);
    assert.equal(on.view.shownSequence, 0, "nobody has heard of it");
    on.view.hearApplied(sequence);
    assert.deepEqual([on.view.sequence, on.view.shownSequence], [0, sequence]);
  });

  test("counts where a transaction was applied in it just after an answer of a ledger far above, which speaks for none", () => {
    const on = stage({ clockOff: -86_400 });
    const { sequence, closeTime } = on.truth();
    on.hear({ sequence: sequence + 1_000_000, closeTime });
    on.clock.pass(100);
    on.hear({ sequence, closeTime });
    on.view.hearApplied(sequence);
    assert.deepEqual([on.view.sequence, on.view.shownSequence], [0, sequence]);
  });

  test("stands where lagging nodes have overturned what is believed, a clock that is wrong or not, and is forgotten in the end", () => {
    for (const clockOff of [0, -86_400, 86_400]) {
      const on = stage({ clockOff, stored: { sequence: 900, closeTime: START - 500 } });
      on.clock.pass(200_000);
      const shown = on.truth().sequence;
      on.hear(on.truth());
      on.view.hearShown(shown);
      on.clock.pass(1_000);
      on.hear(on.truth());
      for (let seconds = 0; seconds < 30; seconds++) {
        on.clock.pass(1_000);
        on.hear(on.truth(15));
        assert.equal(on.view.shownSequence, shown);
      }
      on.clock.pass(JUDGE_LIMITS.forgottenMs);
      assert.equal(on.view.shownSequence, 0);
    }
  });

  test("stands where a node that lags has said once, by mistake, that it is far ahead, and shows as much as before then", () => {
    const on = stage({ firstSequence: 1_025 });
    const showed = { sequence: 1_029, closeTime: START };
    on.hear(showed);
    on.view.hearApplied(showed.sequence);
    const old = { sequence: 1_009, closeTime: START - 80 };
    for (
      const [pauseMs, said] of [
        [1_000, old],
        [2_100, { ...old, sequence: 1_059 }],
        [8_200, { sequence: 1_025, closeTime: START }],
        [1_000, { sequence: 1_025, closeTime: START }],
        [2_100, { sequence: 1_026, closeTime: START }],
      ] as const
    ) {
      on.clock.pass(pauseMs);
      on.hear(said);
      assert.equal(on.view.shownSequence, showed.sequence, JSON.stringify(said));
    }
  });

  test("ends when ledgers that closed later are confirmed below it: two wrong answers had made it up", () => {
    const on = stage();
    on.pass(20);
    const wrong = { ...on.truth(), sequence: on.truth().sequence + 1_000 };
    on.hear(wrong);
    on.clock.pass(1_000);
    on.hear(wrong);
    on.view.hearShown(wrong.sequence);
    assert.deepEqual([on.view.sequence, on.view.shownSequence], [on.truth().sequence, wrong.sequence]);
    on.pass(15);
    assert.equal(on.view.shownSequence, 0);
  });

  test("ends with its network, and none of a former one counts", () => {
    const on = stage();
    on.pass(202);
    const former = on.truth();
    on.view.hearShown(former.sequence);
    assert.equal(on.view.shownSequence, former.sequence);
    const now = (sequence: number) => ({ sequence, closeTime: on.truth().closeTime + 1 });
    for (let seconds = 0; seconds < 5; seconds++) {
      on.clock.pass(1_000);
      on.hear(now(7));
    }
    assert.deepEqual([on.view.sequence, on.view.shownSequence], [7, 0]);
    for (let seconds = 0; seconds < 3; seconds++) {
      on.clock.pass(1_000);
      on.hear(former);
      on.view.hearShown(former.sequence);
    }
    assert.equal(on.view.shownSequence, 0);
  });

  test("no absurd claim speaks for one far below it, nor keeps one from being forgotten", () => {
    const on = stage();
    on.pass(20);
    const shown = on.truth().sequence + 1_000;
    on.hear({ ...on.truth(), sequence: 2 ** 31 - 1 });
    on.clock.pass(1_000);
    on.hear({ ...on.truth(), sequence: shown });
    on.view.hearShown(shown);
    on.view.hearApplied(shown + 1);
    assert.equal(on.view.shownSequence, 0);
    on.view.hearApplied(shown);
    assert.equal(on.view.shownSequence, shown, "one that is near has spoken for it");
    for (let seconds = 0; seconds < 300; seconds++) {
      on.clock.pass(1_000);
      on.hear({ ...on.truth(), sequence: seconds % 30 === 0 ? 2 ** 31 - 1 : on.truth().sequence });
    }
    assert.equal(on.view.shownSequence, 0);
  });

  test("counts on a network of hundreds of ledgers a second, too", () => {
    const clock = fakeClock(START * 1_000);
    const shown = createShownLedger(clock);
    for (let sequence = 1; sequence <= 2_000; sequence++) {
      clock.pass(5);
      shown.hear({ node: 0, sequence, closeTime: START });
      shown.show(sequence, { sequence: 0, closeTime: 0 });
    }
    assert.ok(shown.sequence > 1_500, String(shown.sequence));
  });
});

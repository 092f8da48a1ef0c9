// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JUDGE_LIMITS } from "../../../lib/stellar/ledger/judge.ts";
import { stage, START } from "./judge_stage.ts";

/** By an hour: then our own clock is no witness. */
const WRONG = 3_600;

describe("the judge of claims, where they are only just natural", () => {
  test("a close time may be a minute later than the time since, and no more", () => {
    const { closeTimeSlackSeconds } = JUDGE_LIMITS;
    for (const quietSeconds of [0, 600]) {
      for (const [beyondSeconds, verdict] of [[closeTimeSlackSeconds, "current"], [61, "ahead"]] as const) {
        const on = stage({ clockOff: WRONG });
        // The newest ledger was said two seconds ago.
        on.pass(32);
        on.clock.pass(quietSeconds * 1_000);
        const latest = on.view.closeTime + 2 + quietSeconds;
        const said = { sequence: on.view.sequence + 1, closeTime: latest + beyondSeconds };
        assert.equal(on.hear(said), verdict, `${beyondSeconds} s, after ${quietSeconds}`);
      }
    }
  });

  test("a ledger has one close time", () => {
    const on = stage();
    on.pass(12);
    assert.equal(on.hear({ ...on.truth(), closeTime: on.truth().closeTime + 2 }), "lagging");
    on.pass(1);
    assert.ok(on.isTrue());
  });

  test("a node confirms what it has said itself a second later, not sooner", () => {
    const on = stage();
    on.pass(4);
    on.clock.pass(1_000);
    const said = on.truth();
    on.hear(said);
    on.clock.pass(JUDGE_LIMITS.confirmMs - 1);
    on.hear(said);
    assert.equal(on.view.confirmed.sequence, said.sequence - 1);
    on.clock.pass(1);
    on.hear(said);
    assert.equal(on.view.confirmed.sequence, said.sequence);
  });

  test("an answer without a close time confirms none", () => {
    const on = stage({ nodes: 2 });
    on.pass(4);
    on.clock.pass(1_000);
    const said = on.truth();
    on.hear(said);
    on.hear({ node: 1, sequence: said.sequence });
    assert.equal(on.view.confirmed.sequence, said.sequence - 1);
    on.hear({ node: 1, ...said });
    assert.deepEqual([on.view.confirmed.sequence, on.view.confirmed.closeTime], [said.sequence, said.closeTime]);
  });

  test("our own clock is a witness until it has been at odds with the network for five seconds", () => {
    const on = stage();
    on.pass(10);
    on.clock.step(WRONG * 1_000);
    for (let seconds = 1; seconds <= 8; seconds++) {
      on.pass(1);
      assert.equal(on.view.clockDisagreement() === undefined, seconds <= 5, `after ${seconds} s`);
    }
  });

  test("and none from the beginning where it was at odds with the first that was believed", () => {
    const on = stage({ clockOff: WRONG });
    on.hear(on.truth());
    on.clock.pass(2_000);
    assert.equal(on.hear(on.truth()), "current");
    assert.equal(on.hear({ sequence: 3_000, closeTime: START + WRONG }), "ahead");
  });

  test("nor where it was at odds with the first time that a node said after a start", () => {
    const on = stage({ clockOff: WRONG, stored: { sequence: 999, closeTime: START - 5 } });
    on.hear({ sequence: 1_000 });
    on.hear(on.truth());
    on.clock.pass(2_000);
    assert.equal(on.hear({ sequence: 1_001, closeTime: START + WRONG }), "ahead");
    assert.equal(on.view.closeTime, START);
  });

  test("where nodes say no close times two claims are enough; a time said later is not held to be the same", () => {
    const on = stage();
    assert.equal(on.hear({ sequence: 1_000 }), "ahead");
    on.clock.pass(2_000);
    assert.equal(on.hear({ sequence: 1_000 }), "current");
    const wrong = stage({ clockOff: WRONG });
    assert.equal(wrong.hear({ sequence: 1_000 }), "ahead");
    wrong.clock.pass(2_000);
    assert.equal(wrong.hear(wrong.truth()), "ahead");
  });

  test("a second claim speaks for a first when its close time has moved by as much as time has passed", () => {
    for (const [movedSeconds, verdict] of [[90, "current"], [91, "ahead"]] as const) {
      const on = stage({ clockOff: WRONG });
      on.pass(300);
      const rival = { sequence: 90_000, closeTime: on.truth().closeTime };
      assert.equal(on.hear(rival), "ahead");
      on.clock.pass(30_000);
      assert.equal(on.hear({ sequence: 90_000, closeTime: rival.closeTime + movedSeconds }), verdict);
      assert.equal(on.view.overturned, verdict === "current" ? 2 : 1, "the first of all counts as one");
    }
  });
});

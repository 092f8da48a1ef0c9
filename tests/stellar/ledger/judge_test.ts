// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { JUDGE_LIMITS } from "../../../lib/stellar/ledger/judge.ts";
import { stage, START, TEN_YEARS } from "./judge_stage.ts";

describe("the judge of claims", () => {
  test("believes at once what is natural, and has it confirmed by the next claim a second later", () => {
    const { view, hear, clock, truth } = stage();
    assert.equal(hear(truth()), "current");
    assert.deepEqual([view.sequence, view.confirmed.sequence], [1_000, 0]);
    clock.pass(1_000);
    hear(truth());
    assert.deepEqual([view.sequence, view.confirmed.sequence], [1_000, 1_000]);
  });

  test("another node confirms at once", () => {
    const { view, hear, truth } = stage({ nodes: 2 });
    hear(truth());
    hear({ node: 1, ...truth() });
    assert.equal(view.confirmed.sequence, 1_000);
  });

  test("takes an older ledger for a lagging node's, however often it is said", () => {
    const on = stage();
    on.pass(60);
    for (let claims = 0; claims < 20; claims++) {
      assert.equal(on.hear(on.truth(3)), "lagging");
      on.pass(1);
      assert.ok(on.isTrue());
    }
  });

  test("the first claim is held against our own clock; where they disagree, a second one is needed", () => {
    const { view, hear, clock, truth } = stage({ clockOff: 3_600 });
    assert.equal(hear(truth()), "ahead");
    assert.equal(view.sequence, 0);
    clock.pass(2_000);
    assert.equal(hear(truth()), "current");
    assert.equal(view.sequence, 1_000);
    assert.equal(view.clockDisagreement(), undefined, "the network may just be standing still");
    clock.pass(5_000);
    hear(truth());
    clock.pass(2_000);
    hear(truth());
    assert.equal(Math.round(view.clockDisagreement()! / 10) * 10, -3_600);
  });

  test("a clock that is days ahead is not believed for more than an hour of it", () => {
    const { view, hear, clock, truth } = stage({ clockOff: 40 * 86_400 });
    hear(truth());
    clock.pass(2_000);
    hear(truth());
    assert.ok(Math.abs(view.networkSeconds() - truth().closeTime!) <= 3_600, "no ledger has closed since");
  });

  test("says why the time is in doubt after a start, until a ledger has closed, or none for long enough", () => {
    for (const clockOff of [86_400, -86_400, 20]) {
      for (const closes of [true, false]) {
        const { view, hear, clock, truth } = stage({ clockOff });
        assert.equal(view.timeDoubt(), "unheard");
        const first = truth();
        hear(first);
        assert.equal(view.timeDoubt(), clockOff === 20 ? undefined : "contradicted");
        clock.pass(2_000);
        hear(first);
        assert.equal(view.timeDoubt(), clockOff === 86_400 ? "resting" : undefined);
        for (let seconds = 2; seconds < 10; seconds++) {
          const isOver = seconds >= (closes ? 6 : 8);
          assert.equal(view.timeDoubt(), clockOff === 86_400 && !isOver ? "resting" : undefined);
          clock.pass(1_000);
          hear(closes ? truth() : first);
        }
        assert.equal(view.timeDoubt(), undefined);
        const off = Math.abs(view.networkSeconds() - (truth().closeTime + 10 % 5));
        assert.ok(off < 12 || (!closes && clockOff > 0 && off <= 3_020), `${off} s`);
      }
    }
  });

  test("sequences are signed 32-bit: 4294967295 is never even remembered (T5)", () => {
    const on = stage();
    on.pass(10);
    for (const sequence of [2 ** 31, 2 ** 32 - 1, 2 ** 53, -1, 1.5, NaN]) {
      assert.equal(on.hear({ sequence }), "lagging");
    }
    on.pass(3);
    for (const sequence of [2 ** 31, 2 ** 32 - 1]) assert.equal(on.hear({ sequence }), "lagging");
    assert.ok(on.isTrue());
    assert.deepEqual(on.doubted, []);
  });

  test("an untimed claim never outweighs a timed one, and is corrected by it (T5)", () => {
    const on = stage();
    on.pass(10);
    for (let times = 0; times < 5; times++) {
      assert.equal(on.hear({ sequence: 2 ** 31 - 1 }), "ahead");
      on.clock.pass(10_000);
    }
    on.pass(5);
    assert.ok(on.isTrue());
    on.hear({ sequence: on.view.sequence + 50 });
    on.pass(5);
    assert.ok(on.isTrue());
  });

  test("a close time ten years ahead moves no time (T4)", () => {
    const on = stage();
    on.pass(10);
    const before = on.view.networkSeconds();
    for (const sequence of [on.truth().sequence, on.truth().sequence + 1]) {
      on.hear({ sequence, closeTime: START + TEN_YEARS });
      assert.equal(on.view.networkSeconds(), before);
    }
    on.pass(10);
    assert.equal(on.view.networkSeconds(), before + 10);
  });

  test("a wrong high ledger is not followed, and asked for again (T3)", () => {
    const on = stage();
    on.pass(10);
    assert.equal(on.hear({ sequence: 50_000, closeTime: on.truth().closeTime + 5 }), "ahead");
    assert.deepEqual(on.doubted, [0]);
    on.pass(60);
    assert.ok(on.isTrue());
  });

  test("what follows from what one node has shown confirms it, also where both are far from what was confirmed before", () => {
    // The clock spoke for what was shown first, and is moved right then.
    const later = 3_600;
    for (const nodes of [1, 2]) {
      const on = stage({ nodes, stored: { sequence: 1_000, closeTime: START }, clockOff: later });
      const shown = { sequence: 1_720, closeTime: START + later };
      assert.equal(on.hear(shown), "current");
      on.clock.step(3_600_000);
      on.clock.pass(900);
      if (nodes === 1) assert.equal(on.hear({ ...shown, sequence: 1_721 }), "ahead", "too soon");
      on.clock.pass(100);
      assert.equal(on.hear({ node: nodes - 1, ...shown, sequence: 1_721 }), "current");
      assert.deepEqual([on.view.confirmed.sequence, on.view.overturned], [1_720, 0]);
      // The node that has shown it falls behind.
      for (let seconds = 0; seconds < 20; seconds++) {
        on.clock.pass(1_000);
        assert.equal(on.hear({ sequence: 1_706, closeTime: START + later - 70 }), "lagging");
      }
      assert.equal(on.view.sequence, 1_721);
    }
  });

  test("a wrong ledger does not follow from what one node has shown", () => {
    const on = stage({ nodes: 2, stored: { sequence: 1_000, closeTime: START }, clockOff: 3_600 });
    const shown = { sequence: 1_720, closeTime: START + 3_600 };
    on.hear(shown);
    on.clock.step(3_600_000);
    on.clock.pass(5_000);
    assert.equal(on.hear({ node: 1, ...shown, sequence: 1_001_720 }), "ahead");
    assert.equal(on.hear({ node: 1, ...shown, closeTime: START + TEN_YEARS }), "lagging");
    assert.equal(on.view.sequence, 1_720);
  });

  test("where there is another node, the same one confirms itself only after longer", () => {
    const on = stage({ nodes: 2 });
    on.pass(10);
    const far = { sequence: 50_000, closeTime: on.truth().closeTime };
    for (let seconds = 0; seconds < 9; seconds += 3) {
      assert.equal(on.hear({ node: 0, ...far }), "ahead");
      on.clock.pass(3_000);
    }
    assert.equal(on.hear({ node: 1, ...far }), "current");
    assert.equal(on.view.sequence, 50_000);
  });

  test("one node's word is not followed while another speaks for what is believed, and ten seconds after it fell silent", () => {
    const on = stage({ nodes: 2 });
    on.pass(10);
    const jump = () => on.hear({ node: 1, ...on.truth(), sequence: on.truth().sequence + 50_000 });
    for (let seconds = 0; seconds < 100; seconds++) {
      assert.equal(jump(), "ahead");
      on.clock.pass(1_000);
      on.hear({ node: 0, ...on.truth() });
    }
    const said = on.view.sequence;
    for (let seconds = 0; seconds < 10; seconds++) {
      assert.equal(jump(), "ahead");
      assert.equal(on.view.sequence, said);
      on.clock.pass(1_000);
    }
    assert.equal(jump(), "current");
  });

  test("a jump after a sleep of the machine is followed at once where our own clock speaks for it, else by two claims", () => {
    for (const isClockRight of [true, false]) {
      const on = stage();
      on.pass(10);
      if (isClockRight) on.clock.step(3_600_000);
      const later = (seconds: number) => ({
        sequence: on.truth().sequence + 720,
        closeTime: on.truth().closeTime + 3_600 + seconds,
      });
      assert.equal(on.hear(later(0)), isClockRight ? "current" : "ahead");
      on.clock.pass(2_500);
      assert.equal(on.hear(later(0)), "current");
      assert.equal(on.view.closeTime, later(0).closeTime);
    }
  });

  test("what was stored before a start is gone on from, after whatever time", () => {
    for (const seconds of [0, 10, 3_600, 40 * 86_400]) {
      const stored = { sequence: 1_000, closeTime: START };
      const on = stage({ stored, clockOff: seconds });
      assert.equal(on.view.confirmed.sequence, 1_000);
      const newest = { sequence: 1_000 + seconds / 5, closeTime: START + seconds };
      assert.equal(on.hear(newest), "current", `${seconds}`);
      assert.equal(on.view.networkSeconds(), START + seconds);
    }
  });

  test("a network of hundreds of ledgers a second is followed with little delay", () => {
    const { view, clock } = stage();
    let worst = 0;
    for (let ms = 0; ms < 20_000; ms += 20) {
      clock.pass(20);
      const claim = { node: 0, sequence: 1_000 + Math.floor(ms * 0.4), closeTime: START + Math.floor(ms / 1000) };
      view.hear(claim);
      // Ledgers behind, in milliseconds of that network's pace.
      if (ms > 5_000) worst = Math.max(worst, (claim.sequence - view.sequence) / 0.4);
    }
    assert.ok(worst <= 1_000, `${worst} ms`);
  });

  test("even a lie that two claims made is left when nobody has spoken for it for five minutes", () => {
    const on = stage();
    on.pass(10);
    const lie = { sequence: 2 ** 31 - 1, closeTime: START + TEN_YEARS };
    on.hear(lie);
    on.clock.pass(2_500);
    on.hear(lie);
    assert.equal(on.view.sequence, lie.sequence);
    on.pass(JUDGE_LIMITS.forgottenMs / 1000 + 10);
    assert.ok(on.isTrue());
    assert.equal(on.view.networkSeconds(), Math.floor(on.clock.now() / 1000));
  });

  test("tells of news: what is believed, and what is newer and not believed yet", () => {
    const on = stage();
    const heard: number[] = [];
    on.view.onNews((sequence) => heard.push(sequence));
    on.pass(7);
    on.hear({ sequence: 50_000, closeTime: START + 7 });
    on.hear({ sequence: 50_000, closeTime: START + 7 });
    assert.deepEqual(heard, [1_000, 1_001, 50_000]);
  });
});

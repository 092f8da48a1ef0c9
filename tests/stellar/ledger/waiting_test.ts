// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLedgerTime } from "../../../lib/stellar/ledger/ledger_time.ts";
import { createLedgerWait } from "../../../lib/stellar/ledger/waiting.ts";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";

const START_MS = 1_800_000_000_000;

/** A network that closes a ledger every five seconds. */
function network() {
  const clock = fakeClock(START_MS);
  const view = createLedgerView({ clock, stored: { sequence: 100, closeTime: START_MS / 1000 } });
  const rpc = stubRpc({
    getLatestLedger() {
      const sequence = 100 + Math.floor(clock.monotonicMs() / 5_000);
      const closeTime = START_MS / 1000 + 5 * (sequence - 100);
      view.hear({ node: 0, sequence, closeTime });
      return Promise.resolve({ sequence, id: "", protocolVersion: 28 });
    },
  });
  return { clock, view, rpc, ledgers: createLedgerWait({ rpc, view, clock }) };
}

describe("waiting for the next ledger", () => {
  test("one poll serves all who wait, and none is late by more than a second", async () => {
    const { clock, rpc, view, ledgers } = network();
    await Promise.all(Array.from({ length: 200 }, () => ledgers.after(100, 60_000)));
    assert.equal(view.sequence, 101);
    assert.ok(clock.now() - START_MS <= 6_000, `${clock.now() - START_MS} ms`);
    assert.ok(rpc.calls.length <= 25, `${rpc.calls.length} polls`);
  });

  test("a ledger that was seen already is not waited for", async () => {
    const { clock, rpc, ledgers } = network();
    await ledgers.after(99, 60_000);
    assert.equal(clock.now(), START_MS);
    assert.equal(rpc.calls.length, 0);
  });

  test("a ledger heard by somebody else ends it", async () => {
    const { view, ledgers, clock } = network();
    const waiting = ledgers.after(100, 60_000);
    view.hear({ node: 0, sequence: 101, closeTime: START_MS / 1000 });
    await waiting;
    assert.ok(clock.now() - START_MS < 1_000);
  });

  test("it ends with its own time, and polling with it", async () => {
    const { clock, rpc, ledgers } = network();
    await ledgers.after(100, 1_000);
    assert.ok(clock.now() - START_MS >= 1_000 && clock.now() - START_MS < 2_000);
    const polls = rpc.calls.length;
    await clock.wait(10_000);
    assert.ok(rpc.calls.length <= polls + 1);
  });

  test("it polls no more often when the wall clock goes back (T14)", async () => {
    const { clock, rpc, ledgers } = network();
    const waiting = ledgers.after(100, 60_000);
    clock.step(-600_000);
    await waiting;
    assert.ok(rpc.calls.length <= 25, `${rpc.calls.length} polls`);
  });

  test("a node that fails does not end it", async () => {
    const { clock, view } = network();
    let calls = 0;
    const rpc = stubRpc({
      getLatestLedger() {
        calls += 1;
        if (calls < 5) return Promise.reject(new Error("down"));
        view.hear({ node: 0, sequence: 101 });
        return Promise.resolve({ sequence: 101, id: "", protocolVersion: 28 });
      },
    });
    await createLedgerWait({ rpc, view, clock }).after(100, 60_000);
    assert.equal(view.sequence, 101);
  });
});

describe("the ledger's time", () => {
  test("is known while the newest ledger came with it, and asked for when it did not", async () => {
    const { clock, rpc, view } = network();
    const time = createLedgerTime({ rpc, view });
    assert.equal(time(), START_MS / 1000);
    assert.equal(rpc.calls.length, 0);
    clock.pass(30_000);
    view.hear({ node: 0, sequence: 106 });
    const asked = [time(), time()];
    assert.deepEqual(await Promise.all(asked), [START_MS / 1000 + 30, START_MS / 1000 + 30]);
    assert.equal(rpc.calls.length, 1);
  });

  test("is the local clock's where no node says one", async () => {
    const clock = fakeClock(START_MS + 999);
    const rpc = stubRpc({
      getLatestLedger: () => Promise.resolve({ sequence: 5, id: "", protocolVersion: 22 }),
      getHealth: () => Promise.reject(new Error("unhealthy")),
    });
    assert.equal(await createLedgerTime({ rpc, view: createLedgerView({ clock }) })(), START_MS / 1000);
  });
});

describe("the time that is certain", () => {
  /** A machine whose clock is off, and a node that shows so many ledgers after the 100th, five seconds each. */
  function stage({ offSeconds = 0, ledgers }: { offSeconds?: number; ledgers(seconds: number): number }) {
    const clock = fakeClock(START_MS);
    clock.step(offSeconds * 1_000);
    const view = createLedgerView({ clock });
    const rpc = stubRpc({
      getHealth() {
        const later = ledgers(clock.monotonicMs() / 1_000);
        const [latestLedger, latestLedgerCloseTime] = [100 + later, START_MS / 1_000 + 5 * later];
        view.hear({ node: 0, sequence: latestLedger, closeTime: latestLedgerCloseTime });
        const health = { status: "healthy", oldestLedger: 1, ledgerRetentionWindow: 100 };
        return Promise.resolve({ ...health, latestLedger, latestLedgerCloseTime });
      },
    });
    return { clock, view, wait: () => createLedgerWait({ rpc, view, clock }).certainTime() };
  }

  const goesOn = (seconds: number) => Math.floor(seconds / 5);

  test("is heard at once where the clock is right", async () => {
    const { clock, wait } = stage({ ledgers: goesOn });
    await wait();
    assert.equal(clock.monotonicMs(), 0);
  });

  test("is that of the moment in which it was certain, though the clock is moved right after", async () => {
    const { clock, wait } = stage({ ledgers: goesOn });
    await wait();
    const asked = wait();
    clock.step(3_600_000);
    assert.equal(await asked, START_MS / 1_000);
  });

  for (const offSeconds of [3_600, -3_600]) {
    test(`is the network's where the clock is ${offSeconds} s ahead of it`, async () => {
      const { clock, view, wait } = stage({ offSeconds, ledgers: goesOn });
      await wait();
      assert.ok(clock.monotonicMs() < 8_000);
      assert.ok(Math.abs(view.networkSeconds() - START_MS / 1_000) < 10);
    });
  }

  test("is the network's where a clock that was right is set an hour ahead while the node shows no new ledger", async () => {
    const { clock, view, wait } = stage({ ledgers: () => 0 });
    for (let claims = 0; claims < 5; claims++) {
      view.hear({ node: 0, sequence: 100, closeTime: START_MS / 1_000 });
      clock.pass(1_000);
    }
    clock.step(3_600_000);
    assert.ok(await wait() - START_MS / 1_000 < 30);
  });

  test("is the clock's where the network rests", async () => {
    const { clock, wait } = stage({ offSeconds: 3_600, ledgers: () => 0 });
    await wait();
    assert.ok(clock.monotonicMs() >= 8_000 && clock.monotonicMs() < 15_000);
  });

  test("is none where the node falls behind, and has come as far as at first by then", async () => {
    // The sixth ledger when it is asked first, the first when it has fallen behind, and one more each second.
    const { wait } = stage({
      offSeconds: 3_600,
      ledgers: (seconds) => seconds < 3 ? 6 : Math.min(6, Math.floor(seconds) - 4),
    });
    await assert.rejects(wait(), { code: "upstream_error", message: /not certain yet/ });
  });

  test("is none where the node falls behind before that has shown", async () => {
    const { wait } = stage({ offSeconds: 3_600, ledgers: (seconds) => seconds < 3 ? 0 : -6 });
    await assert.rejects(wait(), { code: "upstream_error", message: /not certain yet/ });
  });
});

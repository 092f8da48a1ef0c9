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
  const tip = createLedgerView({ sequence: 100 });
  const rpc = stubRpc({
    getLatestLedger() {
      const sequence = 100 + Math.floor((clock.now() - START_MS) / 5_000);
      tip.observe(sequence, clock.now() / 1000);
      return Promise.resolve({ sequence, id: "", protocolVersion: 28 });
    },
  });
  return { clock, tip, rpc, ledgers: createLedgerWait({ rpc, tip, now: clock.now, wait: clock.wait }) };
}

describe("waiting for the next ledger", () => {
  test("one poll serves all who wait, and none is late by more than a second", async () => {
    const { clock, rpc, tip, ledgers } = network();
    await Promise.all(Array.from({ length: 200 }, () => ledgers.after(100, 60_000)));
    assert.equal(tip.sequence, 101);
    assert.ok(clock.now() - START_MS <= 6_000, `${clock.now() - START_MS} ms`);
    assert.ok(rpc.calls.length <= 25, `${rpc.calls.length} polls`);
  });

  test("a ledger that was seen already is not waited for", async () => {
    const { clock, rpc, ledgers } = network();
    await ledgers.after(99, 60_000);
    assert.equal(clock.now(), START_MS);
    assert.equal(rpc.calls.length, 0);
  });

  test("a tip raised by somebody else ends it", async () => {
    const { tip, ledgers, clock } = network();
    const waiting = ledgers.after(100, 60_000);
    tip.observe(101, START_MS / 1000);
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

  test("a node that fails does not end it", async () => {
    const { clock, tip } = network();
    let calls = 0;
    const rpc = stubRpc({
      getLatestLedger() {
        calls += 1;
        if (calls < 5) return Promise.reject(new Error("down"));
        tip.observe(101);
        return Promise.resolve({ sequence: 101, id: "", protocolVersion: 28 });
      },
    });
    await createLedgerWait({ rpc, tip, now: clock.now, wait: clock.wait }).after(100, 60_000);
    assert.equal(tip.sequence, 101);
  });
});

describe("the ledger's time", () => {
  test("is known while the newest ledger came with it, and asked for when it did not", async () => {
    const { clock, rpc, tip } = network();
    tip.observe(105, 1_700_000_000);
    const time = createLedgerTime({ rpc, tip, now: clock.now });
    assert.equal(time(), 1_700_000_000);
    assert.equal(rpc.calls.length, 0);
    tip.observe(106);
    clock.pass(30_000);
    const asked = [time(), time()];
    assert.deepEqual(await Promise.all(asked), [START_MS / 1000 + 30, START_MS / 1000 + 30]);
    assert.equal(rpc.calls.length, 1);
  });

  test("is the local clock's where no node says one", async () => {
    const tip = createLedgerView();
    const rpc = stubRpc({
      getLatestLedger: () => Promise.resolve({ sequence: 5, id: "", protocolVersion: 22 }),
      getHealth: () => Promise.reject(new Error("unhealthy")),
    });
    assert.equal(await createLedgerTime({ rpc, tip, now: () => START_MS + 999 })(), START_MS / 1000);
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createKnownUntil } from "../../lib/events/known_until.ts";
import { createRead } from "./history_stage.ts";

const NOW = 1_800_000_000;

/** A head that the test sets, on a clock that the test moves. */
function stage() {
  const at = { seconds: 0 };
  const head = { sequence: 0, shownAtMs: undefined as number | undefined, networkSeconds: () => NOW + at.seconds };
  const known = createKnownUntil({ head, clock: { monotonicMs: () => at.seconds * 1_000 } });
  return {
    known,
    /** Lets so many seconds pass; then a node shows this ledger. */
    shows(seconds: number, sequence: number) {
      at.seconds += seconds;
      Object.assign(head, { sequence, shownAtMs: at.seconds * 1_000 });
    },
    passes: (seconds: number) => at.seconds += seconds,
  };
}

test("the log is complete up to the time at which a node last returned the head", () => {
  const { known, shows, passes } = stage();
  known.scanned(100);
  assert.equal(known.seconds(), undefined, "no node has answered yet");
  shows(5, 100);
  known.scanned(100);
  passes(90);
  known.scanned(100);
  assert.equal(known.seconds(), NOW + 5, "no node has answered since");
  shows(5, 100);
  known.scanned(100);
  assert.equal(known.seconds(), NOW + 100, "the network rests");
});

test("a log that stops while the head rises is complete up to the first missing ledger", () => {
  const { known, shows } = stage();
  shows(5, 100);
  known.scanned(100);
  for (let ledger = 101; ledger <= 140; ledger++) {
    shows(5, ledger);
    known.scanned(100);
  }
  assert.equal(known.seconds(), NOW + 5);
});

test("a log that is always one ledger late is complete up to one ledger time before now", () => {
  const { known, shows } = stage();
  for (let ledger = 100; ledger <= 140; ledger++) {
    shows(5, ledger);
    known.scanned(ledger - 1);
  }
  assert.equal(known.seconds(), NOW + 200);
});

test("the log becomes complete again after the head falls, as in a reset", () => {
  const { known, shows } = stage();
  shows(5, 100);
  known.scanned(90);
  shows(5, 7);
  known.scanned(7);
  assert.equal(known.seconds(), NOW + 10);
});

test("a new process reads the close time of the scanned ledger from the store", async () => {
  const { history, network, rpc, bareStore } = await createRead();
  const { latestLedgerCloseTime } = (await bareStore.events.watcherState())!;
  network.closeEmpty(7);
  await rpc.getHealth();
  assert.equal((await history.status()).scannedCloseTime, latestLedgerCloseTime);
});

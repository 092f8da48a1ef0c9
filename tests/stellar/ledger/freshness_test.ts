// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createEntryReader } from "../../../lib/stellar/ledger/entries.ts";
import { believed } from "../../../lib/stellar/ledger/freshness.ts";
import { createLedgerView } from "../../../lib/stellar/ledger/ledger_view.ts";
import { createRpcClient } from "../../../lib/stellar/rpc/client.ts";
import { fakeClock, stubRpc } from "../rpc/stub_rpc.ts";

const START = 1_800_000_000;

/** Two nodes of a network that closes a ledger every five seconds; the second is always so many ledgers behind. */
function stage({ lag }: { lag: number }) {
  const clock = fakeClock(START * 1_000);
  const view = createLedgerView({ clock, nodes: 2 });
  const down = new Set<string>();
  const fetch = (url: string, { body }: { body: string }) => {
    const name = new URL(url).hostname;
    if (down.has(name)) return Promise.reject(new TypeError("refused"));
    const { id, method } = JSON.parse(body);
    const closed = Math.floor(clock.monotonicMs() / 5_000) - (name === "node-1.test" ? lag : 0);
    const [latestLedger, closeTime] = [10_000 + closed, String(START + 5 * closed)];
    const newest = {
      latestLedger,
      latestLedgerCloseTime: closeTime,
      oldestLedger: 2,
      oldestLedgerCloseTime: String(START - 50_000),
    };
    const answers: Record<string, unknown> = {
      getHealth: { status: "healthy", ledgerRetentionWindow: 120_960, ...newest },
      getLatestLedger: { id: "0".repeat(64), protocolVersion: 23, sequence: latestLedger, closeTime },
    };
    const result = answers[method] ?? { entries: [], latestLedger };
    return Promise.resolve(Response.json({ jsonrpc: "2.0", id, result }));
  };
  // What the client waits for besides, a time-out or the next look at a node, is not what passes here.
  const wait = (ms: number, signal?: AbortSignal) =>
    ms > 3_000
      ? new Promise<void>((resolve) => signal?.addEventListener("abort", () => resolve()))
      : clock.wait(ms, signal);
  const urls = ["http://node-0.test", "http://node-1.test"];
  const rpc = createRpcClient({ urls, fetch: fetch as never, timeoutMs: 10_000, view, clock: { ...clock, wait } });
  const entries = createEntryReader({ rpc, view, clock });
  return { clock, view, down, rpc, read: () => entries.read(["AAAA"], { fresh: true }) };
}

test("a node that comes back far ahead of the one that was believed meanwhile is read at once", async () => {
  const { clock, view, down, rpc, read } = stage({ lag: 150 });
  down.add("node-0.test");
  for (let polls = 0; polls < 40; polls++) {
    clock.pass(1_500);
    await rpc.getHealth().catch(() => undefined);
  }
  const believedLedger = view.sequence;
  down.clear();
  let latest = 0;
  for (let reads = 0; reads < 400; reads++) {
    clock.pass(2_000);
    const askedAtMs = clock.monotonicMs();
    ({ ledger: latest } = await read());
    assert.ok(clock.monotonicMs() - askedAtMs <= 3_000);
  }
  assert.ok(latest > believedLedger + 150);
});

test("nothing is read as of a ledger before one in which somebody was told that a transaction was applied", async () => {
  const { clock, view, down, rpc, read } = stage({ lag: 6 });
  clock.pass(100_000);
  down.add("node-0.test");
  for (let polls = 0; polls < 10; polls++) {
    clock.pass(1_000);
    await rpc.getHealth().catch(() => undefined);
  }
  const lagging = view.sequence;
  // The good node is back for half a second: what it shows is not confirmed when it fails again.
  down.clear();
  down.add("node-1.test");
  await rpc.getHealth();
  assert.equal(view.sequence, lagging + 6);
  view.hearApplied(lagging + 5);
  down.clear();
  down.add("node-0.test");
  let refused = 0;
  for (let reads = 0; reads < 30; reads++) {
    clock.pass(1_000);
    const ledger = await read().then((answer) => answer.ledger, () => undefined);
    if (ledger === undefined) refused++;
    else assert.ok(ledger >= lagging + 5, `ledger ${ledger}`);
  }
  assert.ok(refused > 0 && refused < 30, `${refused} refused`);
});

test("nothing is shown as of an absurd ledger because another one, far from it, was claimed just before", async () => {
  const clock = fakeClock(START * 1_000);
  const view = createLedgerView({ clock });
  const truth = { node: 0, sequence: 10, closeTime: START };
  for (const closeTime of [START, START]) {
    view.hear({ ...truth, closeTime });
    clock.pass(1_000);
  }
  const claims = [1_000_000_010, 1_010, 1_000_000_010];
  const rpc = stubRpc({ getHealth: () => Promise.reject(new Error("not now")) });
  const { latestLedger } = await believed({ rpc, view, clock }, () => {
    const sequence = claims.shift() ?? truth.sequence;
    view.hear({ node: 0, sequence });
    return Promise.resolve({ latestLedger: sequence });
  });
  assert.deepEqual([latestLedger, view.shownSequence], [10, 10]);
});

test("what a node says that holds no ledger yet is not shown, before the first ledger is known or after", async () => {
  for (const stored of [undefined, { sequence: 100, closeTime: START }]) {
    const clock = fakeClock(START * 1_000);
    const view = createLedgerView({ clock, stored });
    const truth = { node: 0, sequence: 101, closeTime: START };
    const said = [0, 0, 101, 101];
    const rpc = stubRpc({
      getHealth: () => {
        view.hear(truth);
        return Promise.reject(new Error("not now"));
      },
      getLedgerEntries() {
        const sequence = said.shift() ?? 101;
        view.hear({ node: 0, sequence });
        return Promise.resolve({ latestLedger: sequence, entries: [] });
      },
    });
    const { ledger } = await createEntryReader({ rpc, view, clock }).read(["AAAA"]);
    assert.equal(ledger, 101);
  }
});

test("a refused simulation is of no ledger, and is told at once", async () => {
  const clock = fakeClock(START * 1_000);
  const view = createLedgerView({ clock, stored: { sequence: 100, closeTime: START } });
  const refused = { latestLedger: 0, error: "Transaction contains a memo" };
  assert.equal(await believed({ rpc: stubRpc({}), view, clock }, () => Promise.resolve(refused)), refused);
});

test("an entry of the believed ledger is not read from memory once a newer ledger was shown", async () => {
  const clock = fakeClock(START * 1_000);
  const view = createLedgerView({ clock, nodes: 2, stored: { sequence: 100, closeTime: START } });
  const said = [1_000, 1_000, 100];
  const rpc = stubRpc({
    getHealth: () => Promise.reject(new Error("not now")),
    getLedgerEntries() {
      const sequence = said.shift() ?? 1_000;
      view.hear({ node: 0, sequence });
      return Promise.resolve({ latestLedger: sequence, entries: [] });
    },
  });
  const entries = createEntryReader({ rpc, view, clock });
  assert.equal((await entries.read(["AAAA"])).ledger, 1_000);
  assert.equal((await entries.read(["BBBB"])).ledger, 100, "nobody else has spoken for the other yet");
  assert.equal(entries.readNow(["BBBB"])?.ledger, 100);
  clock.pass(1_000);
  view.hear({ node: 0, sequence: 1_000 });
  assert.deepEqual([view.sequence, view.shownSequence], [100, 1_000]);
  assert.equal(entries.readNow(["BBBB"]), undefined);
  assert.equal((await entries.read(["BBBB"])).ledger, 1_000);
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createResetCheck, type Finding, type KnownLedgers } from "../../lib/stellar/reset.ts";
import { RpcError } from "../../lib/stellar/rpc/json_rpc.ts";
import { fakeClock, stubRpc } from "./rpc/stub_rpc.ts";

const T = 1_800_000_000;
const hashOf = (network: string, ledger: number) => `${network}${ledger}`;

/** A node of a network of this name that holds these ledgers, the latest of which closed then. */
interface Shown {
  network: string;
  oldest: number;
  latest: number;
  closeTime: number;
  lacksLedgers?: true;
  /** `getLedgers` fails, and nothing else. */
  failsLedgers?: true;
}

function stage(known: Partial<KnownLedgers>) {
  const clock = fakeClock(T * 1_000);
  /** The contents of the next answers; the last one repeats. */
  let shown: Shown[] = [];
  const next = () => shown.length > 1 ? shown.shift()! : shown[0]!;
  const newest = ({ oldest, latest, closeTime }: Shown) => {
    return { oldestLedger: oldest, latestLedger: latest, latestLedgerCloseTime: closeTime };
  };
  const rpc = stubRpc({
    async getLedgers({ startLedger }) {
      const one = await Promise.resolve(next());
      if (one.failsLedgers) throw new Error("HTTP 503");
      if (one.lacksLedgers) throw new RpcError("getLedgers", -32601, "method not found");
      if (startLedger < one.oldest || startLedger > one.latest) {
        const range = `the oldest ledger: ${one.oldest} and the latest ledger: ${one.latest}`;
        throw new RpcError("getLedgers", -32600, `start ledger must be between ${range}`);
      }
      const closed = one.closeTime - 5 * (one.latest - startLedger);
      const ledger = { sequence: startLedger, hash: hashOf(one.network, startLedger), ledgerCloseTime: closed };
      return { ledgers: [ledger], ...newest(one) };
    },
    getHealth: () => Promise.resolve({ status: "healthy", ledgerRetentionWindow: 100, ...newest(next()) }),
  });
  const resets = createResetCheck({ rpc, clock });
  const all = { checkpoints: [], formerCheckpoints: [], isEventThere: () => Promise.resolve(undefined), ...known };
  const { signal } = new AbortController();
  return {
    clock,
    resets,
    compare: (...answers: Shown[]) => {
      shown = answers;
      return resets.compare(all, signal);
    },
    checkpoint(ledger: number, ...answers: Shown[]) {
      shown = answers;
      return resets.checkpoint(ledger, signal);
    },
  };
}

const checkpoint = (network: string, ledger: number, closeTime: number) => {
  return { ledger, hash: hashOf(network, ledger), closeTime };
};
const KNOWN = { checkpoints: [checkpoint("b", 100, T - 800), checkpoint("b", 220, T - 200)] };
const FORMER = { ...KNOWN, formerCheckpoints: [checkpoint("a", 1_163_900, T - 1_000)] };
const same: Shown = { network: "b", oldest: 2, latest: 260, closeTime: T };

const former: Shown = { network: "a", oldest: 1_043_000, latest: 1_164_043, closeTime: T - 272 };
const lacking: Shown = { ...same, lacksLedgers: true };
const inFormer = { ...KNOWN, formerCheckpoints: [checkpoint("a", 90, T - 1_000)] };
const small: Shown = { network: "c", oldest: 1, latest: 40, closeTime: T };
const pruned = { ...same, oldest: 5_000, latest: 9_000, closeTime: T + 40_000 };
const withEvent = (isThere: boolean) => ({ ...KNOWN, isEventThere: () => Promise.resolve(isThere) });

const ROWS: [what: string, known: Partial<KnownLedgers>, shown: Shown[], kind: Finding["kind"]][] = [
  ["the newest checkpoint's hash", KNOWN, [same], "same"],
  ["an older checkpoint's hash, of a node that lags", KNOWN, [{ ...same, latest: 150, closeTime: T - 550 }], "same"],
  ["another hash", KNOWN, [{ ...same, network: "c" }], "other"],
  ["a former epoch's hash (H14)", inFormer, [{ ...same, network: "a" }], "lags"],
  ["no checkpoint in range, and closed no later than the newest one (H1)", FORMER, [former], "lags"],
  ["all checkpoints above its newest ledger, which closed later", KNOWN, [small], "other"],
  ["all checkpoints pruned", KNOWN, [pruned], "nothing"],
  ["no checkpoint yet", {}, [same], "nothing"],
  ["the range of one backend, and the ledger of another one (H7)", FORMER, [former, same], "lags"],
  ["no getLedgers, and no settled event", KNOWN, [lacking], "nothing"],
  ["no getLedgers, and the newest settled event at its place (H15)", withEvent(true), [lacking], "same"],
  ["no getLedgers, and the newest settled event gone", withEvent(false), [lacking], "other"],
];

for (const [what, known, shown, kind] of ROWS) {
  test(`a node's view of the network: ${what} is "${kind}"`, async () => {
    assert.equal((await stage(known).compare(...shown)).kind, kind);
  });
}

test("a new epoch begins after two answers 2 s apart, with the lower one as head", async () => {
  const { compare, clock } = stage(KNOWN);
  const other = { network: "c", oldest: 2, latest: 240, closeTime: T };
  for (let times = 0; times < 2; times++) {
    assert.deepEqual(await compare(other), { kind: "other", node: 0 });
    clock.pass(1_000);
  }
  const checkpoint = { ledger: 220, hash: "c220", closeTime: T - 100 };
  const begins = { head: { sequence: 240, closeTime: T }, checkpoint, oldestLedger: 2 };
  assert.deepEqual(await compare({ ...other, latest: 241, closeTime: T + 5 }), { kind: "other", node: 0, begins });
});

test("one wrong hash does not become the checkpoint of a new epoch", async () => {
  const { clock, compare } = stage(KNOWN);
  const other: Shown = { network: "c", oldest: 2, latest: 260, closeTime: T };
  assert.equal((await compare({ ...other, network: "wrong" })).kind, "other");
  clock.pass(2_000);
  assert.deepEqual(await compare(other), { kind: "other", node: 0 }, "the answers differ: the second is the first now");
  clock.pass(2_000);
  const finding = await compare(other);
  assert.deepEqual(finding.kind === "other" && finding.begins?.checkpoint.hash, hashOf("c", 220));
});

test("two answers from different networks begin no epoch", async () => {
  const { compare, clock } = stage(KNOWN);
  await compare({ network: "c", oldest: 2, latest: 240, closeTime: T });
  clock.pass(3_000);
  const another = await compare({ network: "d", oldest: 2, latest: 90_000, closeTime: T + 3 });
  assert.deepEqual(another, { kind: "other", node: 0 });
});

test("an answer from the known network cancels an earlier sign of another one", async () => {
  const { compare, clock } = stage(KNOWN);
  await compare({ ...same, network: "c" });
  clock.pass(3_000);
  assert.equal((await compare(same)).kind, "same");
  assert.deepEqual(await compare({ ...same, network: "c" }), { kind: "other", node: 0 });
});

test("after 20 s of failing getLedgers the comparison works without getLedgers", async () => {
  const { compare, clock } = stage({ ...KNOWN, isEventThere: () => Promise.resolve(true) });
  const failing: Shown = { ...same, failsLedgers: true };
  await assert.rejects(compare(failing), /503/);
  clock.pass(19_000);
  await assert.rejects(compare(failing), /503/);
  clock.pass(1_000);
  assert.equal((await compare(failing)).kind, "same");
});

test("a missing ledger does not count as a failure of getLedgers", async () => {
  const { compare, clock } = stage(KNOWN);
  assert.equal((await compare(former, same)).kind, "lags");
  clock.pass(60_000);
  await assert.rejects(compare({ ...same, failsLedgers: true }), /503/);
});

test("a checkpoint needs two answers with the same hash", async () => {
  const { checkpoint } = stage({});
  assert.deepEqual(await checkpoint(250, same), { ledger: 250, hash: "b250", closeTime: T - 50 });
  assert.equal(await checkpoint(250, { ...same, network: "wrong" }, same), undefined);
  assert.equal(await checkpoint(300, same), undefined);
  assert.deepEqual(await checkpoint(260, { ...same, lacksLedgers: true }), { ledger: 260, hash: null, closeTime: T });
});

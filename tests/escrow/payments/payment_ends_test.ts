// needs: neutral
import assert from "node:assert/strict";
import { beforeEach, describe, test } from "node:test";
import { REBUILD } from "../../../lib/escrow/payments/projection.ts";
import { openStore } from "../../../lib/store/open.ts";
import { formatEventId, type NewEvent } from "../../../lib/store/event.ts";
import type { Store, WatcherState } from "../../../lib/store/store.ts";
import { append, claim, gap, leaderOf, LIFE, payment, rowsOf, stateAt } from "./projection_stage.ts";

/** Its ledger, the last one of its entry's life, and the first one of its last quarter. */
const [MADE, END, LAST_QUARTER] = [10, 10 + LIFE - 1, 19];
const PAYMENT = payment(MADE, 1);

let store: Store;
/** The newest ledger. */
let ledger: number;
/** The end of the entry of each payment by its id; undefined without an entry. */
let ends: Map<string, number | undefined>;
/** The ids of the payments whose entries were read. */
let asked: string[];
let leader: ReturnType<typeof leaderOf>;

const readEntries: Parameters<typeof leaderOf>[1] = (payments) => {
  asked.push(...payments.map(({ id }) => id));
  const living = (end: number | undefined) => end !== undefined && end >= ledger ? end : undefined;
  return Promise.resolve(new Map(payments.map(({ id }) => [id, { ledger, endLedger: living(ends.get(id)) }])));
};

beforeEach(async () => {
  [store, ledger, ends, asked] = [await openStore("memory:"), MADE, new Map([[PAYMENT.id, END]]), []];
  leader = leaderOf(store, readEntries, () => ledger);
});

/** The network comes to a ledger, and the log reads it. Ledgers settle eight later. */
async function scan(upTo: number, events: NewEvent[] = [], more: Partial<WatcherState> = {}): Promise<void> {
  ledger = upTo;
  await append(store, events, stateAt(upTo, Math.max(0, upTo - 8), more));
}

/** A poll: derives, reads what is due, and appends what is owed. Returns that as `type ledger`. */
async function poll(...scanned: Parameters<typeof scan>): Promise<string[]> {
  await scan(...scanned);
  await leader.follow();
  await leader.read();
  const owed = await leader.owed();
  await append(store, owed, (await store.events.watcherState())!);
  await leader.follow();
  return owed.map(({ type, ledger }) => `${type} ${ledger}`);
}

const states = async () => (await rowsOf(store)).map(({ state }) => state);

/** More payments of others than the projection derives in one turn. */
const others = (): NewEvent[] =>
  Array.from({ length: 1_101 }, (_, n) => ({
    ...PAYMENT,
    id: formatEventId({ epoch: 0, ledger: MADE, order: 8_192, index: n }),
    merchant: `other ${n % 7}`,
    payment: { slot: n, endLedger: 9_999 },
  }));

describe("the end of a payment", () => {
  test("is not known while a gap is open, and known once the gap is filled without an event of its merchant", async () => {
    await poll(MADE, [PAYMENT]);
    const gaps = { gaps: [gap(12, 14)] };
    assert.deepEqual(await poll(20, [], gaps), ["payment.expiring 20"]);
    // Its entry was read after the gap, so that no claim was in the gap.
    assert.deepEqual(await states(), ["pending"]);
    const unread = { gaps: [gap(21, 22)] };
    for (const at of [23, 40]) assert.deepEqual(await poll(at, [], unread), []);
    assert.deepEqual(await states(), ["unknown"]);
    assert.deepEqual(await poll(41, []), ["payment.expired 23"]);
    const rows = await rowsOf(store);
    assert.equal(rows[0]!.state, "expired");
    await store.sharedState.change(REBUILD, () => ({ value: true, keepMs: 60_000, answer: undefined }));
    assert.deepEqual(await poll(42), []);
    assert.deepEqual(await rowsOf(store), rows);
  });

  test("is unknown from the commit on that opens a gap, and pending again from that on which fills it", async () => {
    await poll(MADE, [PAYMENT]);
    await poll(15, [], { gaps: [gap(12, 14)] });
    assert.deepEqual(await states(), ["unknown"]);
    await poll(16, []);
    assert.deepEqual(await states(), ["pending"]);
  });

  test("is the first reading without its entry, though every poll reads at the newest ledger", async () => {
    await poll(MADE, [PAYMENT]);
    const told: string[] = [];
    for (let at = LAST_QUARTER; at <= 60; at++) {
      const now = await poll(at);
      told.push(...now.map((event) => `${event} at ${at}`));
    }
    assert.deepEqual(told, [
      `payment.expiring ${LAST_QUARTER} at ${LAST_QUARTER}`,
      `payment.expired ${END + 1} at ${END + 1 + 8}`,
    ]);
    assert.deepEqual(asked, [PAYMENT.id, PAYMENT.id], "one reading in the last quarter, one after the end");
  });

  test("is announced once, by a reading in the last quarter, and an extension announces it no second time", async () => {
    await poll(MADE, [PAYMENT]);
    ends.set(PAYMENT.id, 50);
    assert.deepEqual(await poll(LAST_QUARTER), [], "extended before");
    assert.deepEqual(await poll(39), []);
    assert.deepEqual(await poll(40), ["payment.expiring 40"]);
    ends.set(PAYMENT.id, 90);
    for (const at of [51, 70, 80, 89]) assert.deepEqual(await poll(at), []);
    assert.deepEqual(await states(), ["pending"]);
    await poll(91);
    assert.deepEqual(await poll(99), ["payment.expired 91"]);
  });

  test("is not announced when a claim took the entry, though the claim is not in the log yet", async () => {
    await poll(MADE, [PAYMENT]);
    ends.set(PAYMENT.id, undefined);
    assert.deepEqual(await poll(LAST_QUARTER), []);
    assert.deepEqual(await poll(LAST_QUARTER + 2, [claim(LAST_QUARTER - 1)]), []);
    assert.deepEqual(await states(), ["claimed"]);
  });

  test("is neither announced nor told while the projection is behind a claim in the log", async () => {
    await poll(MADE, [PAYMENT]);
    await scan(LAST_QUARTER);
    await leader.follow();
    await leader.read();
    assert.equal((await rowsOf(store))[0]!.owes?.type, "payment.expiring");
    await scan(LAST_QUARTER + 1, [...others(), claim(LAST_QUARTER + 1)]);
    assert.deepEqual(await leader.owed(), [], "the projection has not read the claim");
    await leader.follow();
    assert.deepEqual(await leader.owed(), []);
    assert.equal((await store.payments.get(PAYMENT.id))!.state, "claimed");
  });

  test("is its claim in the log, also when its entry is read before the projection reaches the claim", async () => {
    await poll(MADE, [PAYMENT]);
    await scan(END + 20, [...others(), claim(END)], { settledLedger: END + 20 });
    await leader.read();
    assert.equal((await store.payments.get(PAYMENT.id))!.state, "claimed");
    for (let turn = 0; turn < 3; turn++) assert.deepEqual(await leader.owed(), []);
    assert.equal((await store.payments.get(PAYMENT.id))!.state, "claimed");
  });

  test("before the gateway began is told, and was not announced", async () => {
    const contracts = { [PAYMENT.contractId]: { fromLedger: 5, toLedger: null } };
    assert.deepEqual(await poll(1_000, [PAYMENT], { contracts }), []);
    assert.deepEqual(await poll(1_008, [], { contracts }), ["payment.expired 1000"]);
  });

  test("on a network that was reset is unknown, and nobody reads for it on the new network", async () => {
    await poll(MADE, [PAYMENT]);
    const formerEpochs = [{ epoch: 0, fromLedger: 1, toLedger: MADE }];
    assert.deepEqual(await poll(1_000, [], { epoch: 1, formerEpochs }), []);
    assert.deepEqual(await poll(1_008, [], { epoch: 1, formerEpochs }), []);
    assert.deepEqual([await states(), asked], [["unknown"], []]);
  });

  test("that was not told before a reset is unknown, and owes nothing", async () => {
    await poll(MADE, [PAYMENT]);
    await poll(END + 1);
    await scan(40);
    await leader.follow();
    assert.equal((await rowsOf(store))[0]!.owes?.type, "payment.expired");
    const formerEpochs = [{ epoch: 0, fromLedger: 1, toLedger: 40 }];
    assert.deepEqual(await poll(1_000, [], { epoch: 1, formerEpochs }), []);
    assert.deepEqual(await states(), ["unknown"]);
    assert.deepEqual(await store.payments.owing({ limit: 9 }), []);
  });

  test("of a former contract is unknown and owes nothing, until the gateway has that contract again", async () => {
    await poll(MADE, [PAYMENT]);
    await poll(END + 1);
    await scan(40, [payment(12, 2)]);
    await leader.follow();
    assert.equal((await rowsOf(store))[0]!.owes?.type, "payment.expired");
    leader = leaderOf(store, readEntries, () => ledger, "C-other");
    for (const at of [41, 42]) assert.deepEqual(await poll(at), []);
    assert.deepEqual(await states(), ["unknown", "unknown"]);
    leader = leaderOf(store, readEntries, () => ledger);
    assert.deepEqual(await poll(50), [`payment.expired ${END + 1}`]);
    assert.deepEqual(await poll(60), ["payment.expired 50"]);
    assert.deepEqual(await states(), ["expired", "expired"]);
  });

  test("comes a second time with an id of its own, when a reverted network lives the same ledgers again", async () => {
    await poll(MADE, [PAYMENT]);
    await poll(END + 1);
    assert.deepEqual(await poll(40), [`payment.expired ${END + 1}`]);
    const again = { ...PAYMENT, id: formatEventId({ epoch: 1, ledger: MADE, order: 4_096, index: 0 }) };
    const reverted = {
      epoch: 1,
      formerEpochs: [{ epoch: 0, fromLedger: 1, toLedger: 40 }],
      contracts: { [PAYMENT.contractId]: { fromLedger: MADE, toLedger: null } },
    };
    await poll(MADE, [again], reverted);
    await poll(END + 1, [], reverted);
    assert.deepEqual(await poll(40, [], reverted), [`payment.expired ${END + 1}`]);
    const filter = { types: ["payment.expired"] };
    const told = await store.events.read({ filter, order: "asc", limit: 9 });
    assert.deepEqual(told.map(({ payment }) => payment!.of), [PAYMENT.id, again.id]);
    assert.notEqual(told[0]!.id, told[1]!.id);
    assert.deepEqual(await states(), ["expired", "expired"]);
  });
});

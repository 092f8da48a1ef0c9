import assert from "node:assert/strict";
import { test } from "node:test";
import {
  matchesPayment,
  MAX_PAYMENT_ROWS,
  PAYMENT_STATES,
  type PaymentFilter,
  type PaymentQuery,
  type PaymentsCursor,
  type StoredPayment,
} from "../../lib/store/payment.ts";

import { CONTRACT, sampleId, storeError, watcherLease } from "./samples.ts";
import type { Subject } from "./store_contract.ts";

const ACCOUNT = "GDQNY3PBOJOKYZSRMK2S7LHHGWZIUISD4QORETLMXEWXBI7KFZZMKMX3";
const MERCHANTS = ["M", ACCOUNT, CONTRACT];
const CURSOR: PaymentsCursor = {
  epoch: 0,
  contractId: CONTRACT,
  sequence: 5,
  latestLedger: 1_010,
  settledLedger: 1_000,
  gaps: [],
};

/** The payment `n`, in the ledger 1 000 + n of an epoch. */
export function samplePayment(n: number, fields: Partial<StoredPayment> = {}, epoch = 0): StoredPayment {
  return {
    id: sampleId(n, epoch),
    state: PAYMENT_STATES[n % 4]!,
    contractId: CONTRACT,
    ledger: 1_000 + n,
    authorizedAt: 1_793_491_205 + 5 * n,
    txHash: "cd".repeat(32),
    deviceHash: `${n % 2}f`.repeat(32),
    merchant: MERCHANTS[n % 3]!,
    amount: `${n}`,
    expiresAtLedger: 2_000 + n,
    ...(n % 5 === 0 ? {} : { agent: `A${n % 2}` }),
    ...fields,
  };
}

export function paymentContract({ store, anotherHandle }: Subject): void {
  const commit = async (rows: StoredPayment[], cursor?: PaymentsCursor) =>
    await store().payments.commit({ lease: await watcherLease(store()), rows, cursor });
  const payments = (count: number) => Array.from({ length: count }, (_, n) => samplePayment(n));

  test("payments.commit writes payments and cursor, which another handle reads", async () => {
    assert.equal(await store().payments.cursor(), undefined);
    const claim = {
      eventId: sampleId(9),
      txHash: "ef".repeat(32),
      ledger: 1_009,
      claimedAt: 1_793_491_250,
      asset: "C",
    };
    const full = samplePayment(1, {
      asset: CONTRACT,
      slot: 7,
      expiresAtLedger: 4_294_967_295,
      isAnnounced: true,
      expired: { eventId: sampleId(8), ledger: 1_010, at: 1_793_491_260, isOwn: true },
      reading: { ledger: 9, aliveAt: 8, absentAt: 9, at: 1_793_491_206, endLedger: 8 },
      claim,
    });
    const [least] = payments(1);
    await commit([full, { ...least!, agent: undefined }], CURSOR);
    const other = await anotherHandle();
    assert.deepEqual(await other.payments.get(full.id), full);
    assert.deepEqual(await other.payments.get(least!.id), least);
    assert.equal(await other.payments.get(sampleId(3)), undefined);
    assert.deepEqual(await other.payments.cursor(), CURSOR);
    await commit([]);
    const renewal = { states: ["unknown" as const], after: { authorizedAt: 5, id: sampleId(1) } };
    await commit([], { ...CURSOR, sequence: 6, renewal });
    assert.deepEqual(await store().payments.cursor(), { ...CURSOR, sequence: 6, renewal });
  });

  test("payments.commit replaces a payment, and lists show it in its new state only", async () => {
    const before = samplePayment(1, { state: "pending" });
    await commit([before]);
    const after = samplePayment(1, { state: "claimed", agent: "another agent" });
    await commit([after]);
    const states = (filter: PaymentFilter) => list({ filter });
    assert.deepEqual(await states({ state: "pending" }), []);
    assert.deepEqual(await states({ merchant: before.merchant, state: "pending" }), []);
    for (const filter of [{ state: "claimed" as const }, { merchant: before.merchant }, { agent: after.agent! }, {}]) {
      assert.deepEqual(await states(filter), [after]);
    }
    await commit([before]);
    assert.deepEqual(await states({ state: "pending" }), [before]);
    assert.deepEqual(await states({ state: "claimed" }), []);
  });

  test("payments.commit under a lost lease writes nothing", async () => {
    const lease = await watcherLease(store());
    await commit([samplePayment(1)], CURSOR);
    await store().leases.release([await watcherLease(store())]);
    const lost = store().payments.commit({ lease, rows: [samplePayment(2)], cursor: { ...CURSOR, sequence: 9 } });
    await assert.rejects(lost, storeError("fenced"));
    assert.equal(await store().payments.get(sampleId(2)), undefined);
    assert.deepEqual(await store().payments.cursor(), CURSOR);
  });

  test("payments.commit writes as many payments as a transaction can claim", async () => {
    const fields = { merchant: ACCOUNT, agent: CONTRACT, deviceHash: "00".repeat(32), asset: CONTRACT };
    const all = Array.from({ length: MAX_PAYMENT_ROWS }, (_, n) => samplePayment(n, { ...fields, state: "pending" }));
    await commit(all, CURSOR);
    const claim = { eventId: sampleId(999), txHash: "ef".repeat(32), ledger: 9_999, claimedAt: 1_793_499_999 };
    const claimed = all.map((one) => ({ ...one, state: "claimed" as const, claim }));
    await commit(claimed, { ...CURSOR, sequence: 6 });
    assert.deepEqual(await list({ filter: { merchant: ACCOUNT }, order: "asc" }), claimed);
    assert.deepEqual(await list({ filter: { merchant: ACCOUNT, state: "pending" } }), []);
    await assert.rejects(commit([...all, samplePayment(500)]), RangeError);
  });

  test("payments.list returns the matches of every filter by time and id, page by page, in both orders", async () => {
    const earlier = Array.from({ length: 20 }, (_, n) => samplePayment(n, { authorizedAt: 1_793_491_250 }, 1));
    const all = [...payments(60), ...earlier].sort((a, b) =>
      a.authorizedAt - b.authorizedAt || (placeIn(a) - placeIn(b))
    );
    for (const rows of [all.slice(0, 40).reverse(), all.slice(40)]) await commit(rows);
    const filters: PaymentFilter[] = [
      {},
      ...PAYMENT_STATES.map((state) => ({ state })),
      ...MERCHANTS.flatMap((
        merchant,
      ) => [{ merchant }, { merchant, state: "claimed" as const }, { merchant, agent: "A1" }]),
      { agent: "A1", deviceHash: "1f".repeat(32) },
      { agent: "A0", deviceHash: "1f".repeat(32) },
      { agent: "A1", deviceHash: "1f".repeat(32), merchant: "M", state: "claimed" },
      { from: 1_793_491_250 },
      { to: 1_793_491_250 },
      { merchant: "M", from: 1_793_491_240, to: 1_793_491_300 },
      { state: "unknown", from: 1_793_491_240, to: 1_793_491_300 },
      { merchant: "nobody" },
      { from: 9, to: 10 },
    ];
    for (const filter of filters) {
      const wanted = all.filter((one) => matchesPayment(filter, one));
      for (const order of ["asc", "desc"] as const) {
        const inOrder = order === "asc" ? wanted : wanted.toReversed();
        for (const limit of [1, 7, 1_000]) {
          const found: StoredPayment[] = [];
          for (let page; (page = await list({ filter, order, limit, after: found.at(-1) })).length > 0;) {
            found.push(...page);
            if (limit === 1 && found.length > 5) break;
          }
          const expected = limit === 1 ? inOrder.slice(0, found.length) : inOrder;
          assert.deepEqual(found.map(({ id }) => id), expected.map(({ id }) => id), JSON.stringify({ filter, order }));
          assert.deepEqual(found, expected);
        }
      }
    }
  });

  test("payments.due and payments.owing list what is to be done, and nothing that is done", async () => {
    const waiting = (n: number, ledger: number, what: "end" | "settling" = "end") =>
      samplePayment(n, { due: { for: what, ledger } });
    const owed = samplePayment(5, { owes: { type: "payment.expired", ledger: 9, at: 1_793_491_206 } });
    await commit([waiting(1, 30), waiting(2, 10), waiting(3, 20), waiting(4, 10, "settling"), owed, samplePayment(6)]);
    const due = async (upToLedger: number, what: "end" | "settling" = "end", limit = 9) =>
      (await store().payments.due({ for: what, upToLedger, limit })).map(({ id }) => id);
    assert.deepEqual(await due(29), [sampleId(2), sampleId(3)]);
    assert.deepEqual(await due(30, "end", 2), [sampleId(2), sampleId(3)]);
    assert.deepEqual(await due(10, "settling"), [sampleId(4)]);
    assert.deepEqual(await store().payments.owing({ limit: 9 }), [owed]);
    await commit([waiting(2, 40), samplePayment(3), samplePayment(5)]);
    assert.deepEqual(await due(40), [sampleId(1), sampleId(2)]);
    assert.deepEqual(await store().payments.owing({ limit: 9 }), []);
  });

  test("payments.forget deletes payments before the time, 200 at a call, and returns their number", async () => {
    for (let n = 0; n < 250; n += 50) await commit(payments(n + 50).slice(n));
    const before = samplePayment(230).authorizedAt;
    assert.equal(await store().payments.forget(before), 200);
    assert.equal(await store().payments.forget(before), 30);
    assert.equal(await store().payments.forget(before), 0);
    assert.equal(await store().payments.get(sampleId(229)), undefined);
    assert.deepEqual((await list({ filter: {}, order: "asc" })).map(({ ledger }) => ledger - 1_000), [
      ...Array.from({ length: 20 }, (_, n) => 230 + n),
    ]);
    for (const merchant of MERCHANTS) assert.ok((await list({ filter: { merchant } })).length < 20);
  });

  async function list(
    { filter, order = "desc", after, limit = 1_000 }: Partial<PaymentQuery>,
  ): Promise<StoredPayment[]> {
    return await store().payments.list({ filter: filter!, order, after, limit });
  }
}

const placeIn = ({ id, ledger }: StoredPayment) => (id.length > 30 ? 1e9 : 0) + ledger;

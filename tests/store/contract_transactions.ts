import assert from "node:assert/strict";
import { test } from "node:test";
import type { SubmissionOutcome } from "../../lib/store/submission.ts";
import {
  matchesTransaction,
  type SubmittedTransaction,
  TRANSACTION_STATUSES,
  type TransactionFilter,
  type TransactionQuery,
} from "../../lib/store/transaction.ts";
import type { Subject } from "./store_contract.ts";
import { START_MS } from "./webhook_samples.ts";

const hashOf = (n: number) => n.toString(16).padStart(64, "0");
const KINDS = ["authorize", "claim", "fundEscrow"];

/** The transaction `n` of a key. */
export function sampleTransaction(n: number, fields: Partial<SubmittedTransaction> = {}): SubmittedTransaction {
  const status = TRANSACTION_STATUSES[n % 4]!;
  return {
    keyId: `k${n % 2}`,
    hash: hashOf(n),
    kind: KINDS[n % 3]!,
    source: `G${n % 5}`,
    submittedAtMs: START_MS + 500 * (n >> 1),
    status,
    ...(n % 7 === 0 ? {} : { reference: `order "${n % 6}"`, idempotencyKey: `key-${n}` }),
    ...(status === "success" ? { ledger: 1_000 + n } : {}),
    ...fields,
  };
}

export function transactionContract({ store, anotherHandle }: Subject): void {
  const success: SubmissionOutcome = { status: "success", ledger: 7 };
  const rejected: SubmissionOutcome = { status: "rejected", error: { code: "invalid_request", message: "no" } };

  /** Submits the envelope `n` for a key. */
  async function submit(n: number, keyId: string, fields: Partial<SubmittedTransaction> = {}): Promise<void> {
    const { status: _, ledger: __, reference: ___, ...sent } = sampleTransaction(n, { keyId, ...fields });
    const { hash, source, submittedAtMs } = sent;
    await store().submissions.record({ hash, source, submittedAtMs, validUntil: 1, operation: "ab" }, sent);
  }

  const list = (query: Partial<TransactionQuery> & { keyId: string }) =>
    store().transactions.list({ filter: {}, order: "desc", limit: 1_000, ...query });

  /** Status, ledger and reference of a key's transactions, newest first. */
  const seenBy = async (keyId: string, filter: TransactionFilter = {}) =>
    (await list({ keyId, filter })).map(({ status, ledger, reference }) => [status, ledger, reference]);

  test("submissions.record adds the transaction of each key that submits the envelope, once", async () => {
    const { references } = store();
    await references.record({ hash: hashOf(1), keyId: "k1", reference: "mine", preparedAtMs: 1 });
    await submit(1, "k1");
    await submit(1, "k1", { kind: "claim", submittedAtMs: 5 });
    await submit(1, "k2", { submittedAtMs: START_MS + 9 });
    const { reference: _, ledger: __, ...first } = sampleTransaction(1, { keyId: "k1", status: "pending" });
    assert.deepEqual(await list({ keyId: "k1" }), [{ ...first, reference: "mine" }]);
    const ofOther = { ...first, keyId: "k2", submittedAtMs: START_MS + 9 };
    assert.deepEqual(
      await (await anotherHandle()).transactions.list({ keyId: "k2", filter: {}, order: "asc", limit: 9 }),
      [
        ofOther,
      ],
    );
    const found = await store().transactions.find([hashOf(1), hashOf(2)]);
    assert.deepEqual(found.map(({ keyId }) => keyId).sort(), ["k1", "k2"]);
    assert.deepEqual(await list({ keyId: "k3" }), []);
  });

  test("submissions.recordOutcome gives its outcome to the transaction of every key, in every list", async () => {
    for (const keyId of ["k1", "k2"]) await submit(1, keyId);
    await store().submissions.recordOutcome(hashOf(1), rejected);
    for (const keyId of ["k1", "k2"]) assert.deepEqual(await seenBy(keyId), [["rejected", undefined, undefined]]);
    // The gateway resends the envelope.
    await submit(1, "k3");
    for (const keyId of ["k1", "k2", "k3"]) assert.deepEqual(await seenBy(keyId), [["pending", undefined, undefined]]);
    await store().submissions.recordOutcome(hashOf(1), success);
    await store().submissions.recordOutcome(hashOf(1), rejected);
    for (const keyId of ["k1", "k2", "k3"]) {
      assert.deepEqual(await seenBy(keyId, { status: "success", source: "G1" }), [["success", 7, undefined]]);
      for (const status of ["pending", "rejected"] as const) assert.deepEqual(await seenBy(keyId, { status }), []);
    }
    await submit(1, "k4");
    assert.deepEqual(await seenBy("k4"), [["success", 7, undefined]]);
  });

  test("many keys submit one envelope, at the same time as its outcome arrives", async () => {
    const keys = Array.from({ length: 90 }, (_, n) => `key${n}`);
    await submit(1, "first");
    const [other, { reference: _, ...sent }] = [await anotherHandle(), sampleTransaction(1)];
    await Promise.all([
      ...keys.slice(0, 45).map((keyId) => submit(1, keyId)),
      other.submissions.recordOutcome(hashOf(1), success),
      ...keys.slice(45).map((keyId) => store().transactions.add({ ...sent, keyId, status: "pending" })),
    ]);
    for (const keyId of ["first", ...keys]) assert.deepEqual(await seenBy(keyId), [["success", 7, undefined]], keyId);
  });

  test("transactions.add takes the outcome of the submission, or its own without one", async () => {
    const { transactions } = store();
    await submit(2, "k1");
    await store().submissions.recordOutcome(hashOf(2), success);
    await transactions.add(sampleTransaction(2, { keyId: "k2", status: "pending", reference: "given" }));
    assert.deepEqual(await seenBy("k2"), [["success", 7, "given"]]);
    const final = sampleTransaction(9, { keyId: "k9", status: "success", ledger: 3 });
    await transactions.add(final);
    await submit(9, "k8");
    assert.deepEqual([await seenBy("k9"), await seenBy("k8")], [
      [["success", 3, final.reference]],
      [["pending", undefined, undefined]],
    ]);
    const alone = sampleTransaction(5);
    await transactions.add(alone);
    await transactions.add({ ...alone, kind: "claim" });
    assert.deepEqual(await transactions.find([alone.hash]), [alone]);
  });

  test("transactions.list returns the matches of every filter by time and hash, page by page, in both orders", async () => {
    const all = Array.from({ length: 130 }, (_, n) => sampleTransaction(n));
    await Promise.all(all.toReversed().map((one) => store().transactions.add(one)));
    const filters: TransactionFilter[] = [
      {},
      ...TRANSACTION_STATUSES.map((status) => ({ status })),
      { source: "G3" },
      { kind: "claim" },
      { kind: "claim", status: "failed" },
      { reference: 'order "1"' },
      { reference: 'order "1"', status: "success", source: "G1" },
      { source: "G3", kind: "authorize" },
      { fromMs: START_MS + 5_000 },
      { toMs: START_MS + 5_000, kind: "claim" },
      { fromMs: START_MS + 2_001, toMs: START_MS + 20_000, status: "pending" },
      { reference: "none" },
      { fromMs: 1, toMs: 2 },
    ];
    for (const [keyId, filter] of filters.flatMap((filter) => [["k0", filter], ["k1", filter]] as const)) {
      const wanted = all.filter((one) => one.keyId === keyId && matchesTransaction(filter, one));
      for (const order of ["asc", "desc"] as const) {
        for (const limit of [3, 1_000]) {
          const found: SubmittedTransaction[] = [];
          for (let page; (page = await list({ keyId, filter, order, limit, after: found.at(-1) })).length > 0;) {
            assert.ok(page.length <= limit);
            found.push(...page);
          }
          assert.deepEqual(found, order === "asc" ? wanted : wanted.toReversed(), JSON.stringify({ filter, order }));
        }
      }
    }
  });

  test("transactions.list orders transactions of one millisecond by hash", async () => {
    const at = { keyId: "k1", submittedAtMs: START_MS };
    const all = [1, 2, 3, 4].map((n) => sampleTransaction(n, at));
    for (const n of [2, 0, 3, 1]) await store().transactions.add({ ...all[n]!, hash: `${n}`.repeat(64) });
    const first = await list({ keyId: "k1", limit: 2, order: "asc" });
    const rest = await list({ keyId: "k1", limit: 9, order: "asc", after: first[1] });
    assert.deepEqual([...first, ...rest].map(({ hash }) => hash[0]), ["0", "1", "2", "3"]);
  });

  test("transactions.all returns the records of all keys, or those of a time, by time, hash and key", async () => {
    const all = [[1, 5], [2, 5], [0, 7], [3, 8]].flatMap(([n, at]) =>
      ["k1", "k2"].map((keyId) => sampleTransaction(n!, { keyId, submittedAtMs: at! }))
    );
    for (const one of all.toReversed()) await store().transactions.add(one);
    const times = [[undefined, undefined, all], [5, 7, all.slice(0, 4)], [6, 9, all.slice(4)], [
      9,
      undefined,
      [],
    ]] as const;
    for (const [fromMs, toMs, wanted] of times) {
      const listed: SubmittedTransaction[] = [];
      const page = () => store().transactions.all({ fromMs, toMs, after: listed.at(-1), limit: 3 });
      for (let some; (some = await page()).length > 0;) {
        assert.ok(some.length <= 3);
        listed.push(...some);
      }
      assert.deepEqual(listed, wanted);
    }
  });

  test("transactions.prune deletes records from before the time, of 500 hashes at a call, and returns their number", async () => {
    const at = (n: number) => sampleTransaction(n, { keyId: "k1", submittedAtMs: START_MS + n });
    await Promise.all(Array.from({ length: 612 }, (_, n) => store().transactions.add(at(n))));
    const { transactions } = store();
    const pruned = [await transactions.prune(START_MS + 610), await transactions.prune(START_MS + 610)];
    assert.deepEqual([...pruned, await transactions.prune(START_MS + 610)], [500, 110, 0]);
    assert.deepEqual(await list({ keyId: "k1", order: "asc" }), [at(610), at(611)]);
    assert.deepEqual(await transactions.find([hashOf(609)]), []);
    for (const kind of KINDS) assert.ok((await list({ keyId: "k1", filter: { kind } })).length <= 2);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Store } from "../../lib/store/store.ts";
import { COPY_REGISTER, type CopyMark, type TransferRecords, type TransferStep } from "../../lib/store/transfer.ts";
import { sampleEvent, sampleKey, sampleUndecoded, storeError } from "./samples.ts";
import type { Subject } from "./store_contract.ts";
import { sampleAttempt, sampleFailed, sampleSubscription, START_MS } from "./webhook_samples.ts";

const RUN = "this run";

/** What is read of a store, and written into it, when all of it is copied. */
export function transferContract({ store }: Subject): void {
  test("write rejects what no copy, or another one, has begun", async () => {
    const step: TransferStep = { run: "another", kind: "keys", records: [sampleKey("a")] };
    await assert.rejects(store().transfer.write(step), storeError("fenced"));
    await begin(store());
    await assert.rejects(store().transfer.write(step), storeError("fenced", store().location));
    assert.equal(await store().keys.get("a"), undefined);
  });

  test("write takes the largest page of every kind, and moves the mark on behind it", async () => {
    await begin(store());
    const many = <T>(record: (n: string) => T) =>
      Array.from({ length: 500 }, (_, n) => record(String(n).padStart(3, "0")));
    const subject = { deviceHash: "ab".repeat(32), agent: "G".repeat(56), merchant: "M".repeat(56), amount: "1" };
    const progress = { cursor: 1, failingSinceMs: null, retrying: 1, rejected: 2, dead: 3, nextDueAtMs: START_MS };
    const counters = { rejectedKept: 2, deadKept: 3, attempts: 0 };
    const transaction = {
      ...{ version: "v", request: "r", sequence: "9223372036854775807", isTurnedDown: true, usedAtMs: 7 },
      ...{ envelope: "A".repeat(4_000), envelopes: [{ hash: "h", validUntil: 5, sinceLedger: 4 }] },
      ...{ warning: "é", outcome: { hash: "h", ledger: 6 } },
    };
    const intent = { kind: "webhook" as const, id: "i", term: 3, request: "r", completedAtMs: 7 };
    const pages: Partial<{ [Kind in keyof TransferRecords]: TransferRecords[Kind][] }> = {
      keys: many((n) => sampleKey(n)),
      submissions: many((n) => ({ hash: n, validUntil: 1, submittedAtMs: 2, source: "G", operation: "o" })),
      intents: many((n) => ({ keyId: n, key: "k".repeat(255), ...intent, result: "é".repeat(10_000) })),
      transactionIntents: many((n) => ({ keyId: n, key: "k".repeat(255), ...transaction })),
      nonces: many((n) => ({ deviceHash: n, agent: "a", nonce: "18446744073709551615", untilMs: 5 })),
      registers: many((n) => ({ name: n, value: ["x".repeat(8_000)], untilMs: 5 })),
      events: many((n) => ({ ...sampleEvent(Number(n), { ...subject, type: `t${n}` }), sequence: Number(n) + 1 })),
      undecoded: many((n) => sampleUndecoded(Number(n) + 1_000, { raw: { topics: ["A".repeat(3_000)], value: "B" } })),
      subscriptions: many((n) => ({
        ...{ subscription: sampleSubscription(n, { keyId: n, url: `https://a.example/${"u".repeat(2_000)}` }) },
        ...{ progress, counters, replay: null },
      })),
      failedDeliveries: many((n) => ({ subscriptionId: n, ...sampleFailed(Number(n) + 1, "retrying") })),
      attempts: many((n) => ({
        subscriptionId: n,
        ordinal: 1,
        ...sampleAttempt(1, { responseBody: "é".repeat(1_024) }),
      })),
    };
    for (const [kind, records] of Object.entries(pages)) {
      await store().transfer.write({ run: RUN, kind, records } as TransferStep);
      const { run, kind: at, after } = (await store().registers.read<CopyMark>(COPY_REGISTER))!;
      assert.deepEqual([run, at], [RUN, kind]);
      assert.ok(after.some((part) => String(part).includes("499") || part === 500 || String(part).length > 20), kind);
    }
    for (const kind of ["submissions", "intents", "transactionIntents", "nonces"] as const) {
      assert.deepEqual(await store().transfer.read({ kind, after: [], limit: 500 }), pages[kind]);
    }
    const events = await store().events.read({ filter: { agent: subject.agent }, order: "asc", limit: 1_000 });
    assert.deepEqual(events, pages.events);
    assert.equal((await store().deliveries.retrying({ subscriptionId: "007", limit: 9 })).length, 1);
    assert.deepEqual(await store().events.undecoded({ limit: 100 }), pages.undecoded!.slice(0, 100));
  });

  test("read goes on after the key it is given, and ends with an empty page", async () => {
    for (let n = 0; n < 5; n++) {
      await store().intents.nextNonce({ deviceHash: `d${n % 2}`, agent: `a${n}`, used: "0", validForMs: 1_000 });
    }
    const found: string[] = [];
    for (let after: string[] = [];;) {
      const page = await store().transfer.read({ kind: "nonces", after, limit: 2 });
      if (page.length === 0) break;
      found.push(...page.map(({ agent }) => agent));
      after = [page.at(-1)!.deviceHash, page.at(-1)!.agent];
    }
    assert.deepEqual(found, ["a0", "a2", "a4", "a1", "a3"]);
  });
}

async function begin({ registers, location }: Store): Promise<void> {
  const mark: CopyMark = { run: RUN, from: { id: "i", location }, state: "s", kind: "log", after: [] };
  await registers.change(COPY_REGISTER, () => ({ value: mark, keepMs: 1e12, answer: undefined }));
}

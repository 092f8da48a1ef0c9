// needs: neutral
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, test } from "node:test";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Expiring } from "../../lib/escrow/reads/expiring_payments.ts";
import { openStore } from "../../lib/store/open.ts";
import { Deployment, LATEST, LIFE, none, NOW, OF_AGE, type Payment } from "./expiring_stage.ts";
import { longOnly } from "../tier.ts";

describe("the report of payments that are about to expire", () => {
  let one: Deployment;
  beforeEach(async () => void (one = new Deployment(await openStore("memory:"))));
  afterEach(() => one.store.close());

  test(
    "is incomplete until the whole log is read, and contains the oldest payments meanwhile",
    { skip: longOnly },
    async () => {
      await one.pay("FIRST", LATEST - LIFE + 50);
      await one.log(Array.from({ length: 25_000 }, (_, n): Payment => ["authorized", `M${n}`, OF_AGE - 1]));
      await one.pay("LAST", OF_AGE - 1);
      await one.log(Array.from({ length: 25_001 }, (_, n): Payment => ["claimed", `M${n}`, OF_AGE]));
      const expiring = one.watch();
      const seen: [number, boolean][] = [];
      for (let look = 0; look < 3; look += 1) {
        const { payments, complete } = await expiring.now();
        seen.push([payments, complete]);
        one.latest += 1;
      }
      assert.deepEqual(seen, [[1, false], [1, false], [2, true]]);
    },
  );

  test("is incomplete while more than 100 merchants wait to be asked", async () => {
    for (let n = 0; n < 150; n += 1) await one.pay(`M${n}`, OF_AGE - 1);
    const expiring = one.watch();
    const seen: Expiring[] = [];
    for (let look = 0; look < 2; look += 1) {
      seen.push(await expiring.now());
      one.latest += 12;
    }
    assert.deepEqual(seen.map(({ merchants, complete }) => [merchants, complete]), [[100, false], [150, true]]);
    assert.equal(new Set(one.asked).size, 150);
  });

  test("is incomplete when the node does not return a merchant's payments or their expiry", async () => {
    await one.pay("M", OF_AGE - 1);
    const incomplete = { ...none, complete: false };
    assert.deepEqual(await one.watch(() => Promise.reject(new Error("the node failed"))).now(), incomplete);
    assert.deepEqual(await one.watch(() => Promise.resolve({ pending: "1", payments: null })).now(), incomplete);
    const payments = [{ deviceHash: "ab".repeat(32), amount: "1", authorizedAt: NOW, expiresAt: null }];
    assert.deepEqual(await one.watch(() => Promise.resolve({ pending: "1", payments })).now(), incomplete);
  });

  test("is returned at once as incomplete while the node is slow, and is complete after the node answers", async () => {
    await one.pay("M", OF_AGE - 1);
    let answer = () => {};
    const hung = new Promise<void>((resolve) => answer = resolve);
    const slow = one.watch(async (merchant) => await hung.then(() => one.pending(merchant)), () => Promise.resolve());
    assert.deepEqual(await slow.now(), { ...none, complete: false });
    answer();
    while (!(await slow.now()).complete) await yieldToOthers();
    const firstAt = one.seconds(OF_AGE - 1 + LIFE);
    assert.deepEqual(await slow.now(), { payments: 1, merchants: 1, firstAt, complete: true });
  });

  test("contains a payment with a longer life in the last quarter of that life", async () => {
    await one.pay("M", OF_AGE - 1, LIFE * 2);
    const expiring = one.watch();
    assert.deepEqual(await expiring.now(), none);
    one.latest += LIFE * 3 / 4 - 100;
    assert.deepEqual(await expiring.now(), none);
    one.latest += 100;
    assert.equal((await expiring.now()).payments, 1);
    one.latest += LIFE / 2;
    assert.equal((await expiring.now()).payments, 0);
  });
});

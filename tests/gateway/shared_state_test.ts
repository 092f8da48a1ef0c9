// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createSharedState } from "../../lib/gateway/shared_state.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { openStore } from "../../lib/store/open.ts";
import { scanned } from "../store/samples.ts";
import { createTestClock } from "../test_clock.ts";

async function stage() {
  const clock = createTestClock();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  function gateway() {
    let unread = 0;
    const problems: string[] = [];
    const head = createHead({ clock });
    const on = { onUnread: () => unread++, onProblem: (message: string) => problems.push(message) };
    const sharedState = createSharedState({ store, head, clock, ...on });
    return { head, sharedState, problems, unread: () => unread };
  }
  function observes({ head }: ReturnType<typeof gateway>, sequence: number) {
    const answer = { node: 0, sequence, closeTime: Math.floor(clock.now() / 1_000) };
    if (head.sequence === 0) head.observe(answer);
    return head.observe(answer);
  }
  return { clock, store, gateway, observes };
}

test("a gateway learns a newer ledger from another gateway, and reports it as unread until the log contains it", async () => {
  const { clock, store, gateway, observes } = await stage();
  const [one, two] = [gateway(), gateway()];
  observes(one, 1_000);
  observes(two, 999);
  await two.sharedState.look();
  assert.equal(two.head.sequence, 999);
  await one.sharedState.tellLedger();
  for (let looks = 0; looks < 3; looks++) await two.sharedState.look();
  assert.deepEqual([two.head.sequence, two.head.minimum, two.unread()], [1_000, 1_000, 3]);
  await scanned(store, 1_000, { latestLedgerCloseTime: Math.floor(clock.now() / 1_000) });
  await two.sharedState.look();
  assert.equal(two.unread(), 3);
  observes(two, 1_001);
  await two.sharedState.tellLedger();
  await one.sharedState.tellLedger();
  await one.sharedState.look();
  assert.equal(one.head.sequence, 1_001, "a lower one takes nothing back");
});

test("a gateway ignores a shared ledger of the former epoch, and accepts a lower ledger of the new epoch", async () => {
  const { clock, store, gateway, observes } = await stage();
  const [one, two, three] = [gateway(), gateway(), gateway()];
  observes(one, 5_000);
  await one.sharedState.tellLedger();
  await scanned(store, 20, { epoch: 1, latestLedgerCloseTime: Math.floor(clock.now() / 1_000) });
  observes(two, 21);
  await two.sharedState.look();
  assert.equal(two.head.sequence, 21);
  observes(two, 25);
  await two.sharedState.tellLedger();
  observes(three, 21);
  await three.sharedState.look();
  assert.equal(three.head.sequence, 25);
});

test("a gateway that was suspended during a network reset does not share a ledger of the former epoch", async () => {
  const { clock, store, gateway, observes } = await stage();
  const [late, two, three] = [gateway(), gateway(), gateway()];
  observes(late, 5_000);
  clock.advance(60_000);
  const latestLedgerCloseTime = Math.floor(clock.now() / 1_000);
  await scanned(store, 20, { epoch: 1, latestLedger: 20, latestLedgerCloseTime });
  clock.advance(5_000);
  observes(two, 21);
  observes(three, 20);
  await late.sharedState.tellLedger();
  await two.sharedState.tellLedger();
  await three.sharedState.look();
  assert.equal(three.head.sequence, 21);
});

test("the gateway reports a failing store once, and continues to work", async () => {
  const { store, gateway, observes } = await stage();
  const one = gateway();
  observes(one, 7);
  await store.close();
  for (let n = 0; n < 3; n++) {
    await one.sharedState.tellLedger();
    await one.sharedState.look();
  }
  assert.equal(one.problems.length, 1);
});

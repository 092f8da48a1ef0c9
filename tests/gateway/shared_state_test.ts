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
  function hears({ head }: ReturnType<typeof gateway>, sequence: number) {
    const answer = { node: 0, sequence, closeTime: Math.floor(clock.now() / 1_000) };
    if (head.sequence === 0) head.observe(answer);
    return head.observe(answer);
  }
  return { clock, store, gateway, hears };
}

test("a ledger that one gateway saw is known to the others once they look, who are called until the log has it", async () => {
  const { clock, store, gateway, hears } = await stage();
  const [one, two] = [gateway(), gateway()];
  hears(one, 1_000);
  hears(two, 999);
  await two.sharedState.look();
  assert.equal(two.head.sequence, 999);
  await one.sharedState.tellLedger();
  for (let looks = 0; looks < 3; looks++) await two.sharedState.look();
  assert.deepEqual([two.head.sequence, two.head.minimum, two.unread()], [1_000, 1_000, 3]);
  await scanned(store, 1_000, { latestLedgerCloseTime: Math.floor(clock.now() / 1_000) });
  await two.sharedState.look();
  assert.equal(two.unread(), 3);
  hears(two, 1_001);
  await two.sharedState.tellLedger();
  await one.sharedState.tellLedger();
  await one.sharedState.look();
  assert.equal(one.head.sequence, 1_001, "a lower one takes nothing back");
});

test("a ledger of an epoch that is over is not believed, and one of a new epoch counts though it is lower", async () => {
  const { clock, store, gateway, hears } = await stage();
  const [one, two, three] = [gateway(), gateway(), gateway()];
  hears(one, 5_000);
  await one.sharedState.tellLedger();
  await scanned(store, 20, { epoch: 1, latestLedgerCloseTime: Math.floor(clock.now() / 1_000) });
  hears(two, 21);
  await two.sharedState.look();
  assert.equal(two.head.sequence, 21);
  hears(two, 25);
  await two.sharedState.tellLedger();
  hears(three, 21);
  await three.sharedState.look();
  assert.equal(three.head.sequence, 25);
});

test("who stood still while the network was reset tells the others no ledger of before", async () => {
  const { clock, store, gateway, hears } = await stage();
  const [late, two, three] = [gateway(), gateway(), gateway()];
  hears(late, 5_000);
  clock.advance(60_000);
  const latestLedgerCloseTime = Math.floor(clock.now() / 1_000);
  await scanned(store, 20, { epoch: 1, latestLedger: 20, latestLedgerCloseTime });
  clock.advance(5_000);
  hears(two, 21);
  hears(three, 20);
  await late.sharedState.tellLedger();
  await two.sharedState.tellLedger();
  await three.sharedState.look();
  assert.equal(three.head.sequence, 21);
});

test("a store that fails is told once, and keeps nobody from working", async () => {
  const { store, gateway, hears } = await stage();
  const one = gateway();
  hears(one, 7);
  await store.close();
  for (let n = 0; n < 3; n++) {
    await one.sharedState.tellLedger();
    await one.sharedState.look();
  }
  assert.equal(one.problems.length, 1);
});

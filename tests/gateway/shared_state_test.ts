// needs: neutral
import assert from "node:assert/strict";
import { setImmediate as yieldToOthers } from "node:timers/promises";
import { test } from "node:test";
import { createSourceChoice } from "../../lib/escrow/reads/source_choice.ts";
import { createSharedState } from "../../lib/gateway/shared_state.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { openStore } from "../../lib/store/open.ts";
import { scanned } from "../store/samples.ts";
import { createTestClock } from "../test_clock.ts";

/** The code of three contracts: longer than a register's name. */
const CODES = ["a", "b", "c"].map((digit) => digit.repeat(64)).join(" ");

async function stage() {
  const clock = createTestClock();
  const store = await openStore("memory:", { now: clock.now, isShared: true });
  function gateway() {
    let unread = 0;
    const problems: string[] = [];
    const head = createHead({ clock });
    const sharedState = createSharedState({
      store,
      head,
      clock,
      onUnread: () => unread++,
      onProblem: (message) => problems.push(message),
    });
    const choice = createSourceChoice({
      now: clock.monotonicMs,
      verdicts: sharedState.verdicts,
      onProblem: (message) => problems.push(message),
    });
    return { head, sharedState, choice, problems, unread: () => unread };
  }
  function hears({ head }: ReturnType<typeof gateway>, sequence: number) {
    const answer = { node: 0, sequence, closeTime: Math.floor(clock.now() / 1_000) };
    if (head.sequence === 0) head.observe(answer);
    return head.observe(answer);
  }
  return { clock, store, gateway, hears };
}

/** One read both ways, which counts how often it is made. */
function ways(stored: string, called: string) {
  const made = { count: 0 };
  const by = (value: string) => () => {
    made.count += 1;
    return Promise.resolve({ ledger: 1, value });
  };
  return { made, byEntries: by(stored), byCalls: by(called), isEmpty: () => false };
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
  assert.deepEqual([two.head.sequence, two.unread()], [1_000, 3]);
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
  await one.choice.choose("device", CODES, ways("a", "a"));
  assert.equal(one.choice.way("device"), "entries");
});

test("which way reads go is found out once for all gateways, for each code of the contracts", async () => {
  const { gateway } = await stage();
  const [one, two] = [gateway(), gateway()];
  const [first, second, other] = [ways("a", "a"), ways("a", "a"), ways("a", "a")];
  await one.choice.choose("device", CODES, first);
  await two.choice.choose("device", CODES, second);
  assert.deepEqual([two.choice.way("device"), first.made.count, second.made.count], ["entries", 2, 0]);
  await two.choice.choose("device", `${CODES}!`, other);
  assert.equal(other.made.count, 2);
});

test("a difference that one gateway finds is heeded by the others within a minute, and never taken back", async () => {
  const { clock, gateway } = await stage();
  const [one, two, late] = [gateway(), gateway(), gateway()];
  await one.choice.choose("device", CODES, ways("a", "a"));
  await one.sharedState.verdicts.put("device", CODES, "calls");
  await one.sharedState.verdicts.put("device", CODES, "entries");
  await late.choice.choose("device", CODES, ways("a", "a"));
  assert.equal(late.choice.way("device"), "calls");
  assert.match(late.problems.join(), /reads now call the functions/);
  await two.choice.choose("pending", CODES, ways("a", "b"));
  assert.equal(one.choice.way("device"), "entries");
  clock.advance(60_000);
  await one.choice.choose("device", CODES, ways("a", "a"));
  for (let turns = 0; turns < 5; turns++) await yieldToOthers();
  assert.equal(one.choice.way("device"), "calls");
});

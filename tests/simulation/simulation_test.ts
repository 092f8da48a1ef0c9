// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { forTier, isLong } from "../tier.ts";
import { PLANTED } from "./planted_bugs.ts";
import { runCards } from "./card_worlds.ts";
import { FOCUS_NAMES } from "./focus.ts";
import { run } from "./run.ts";

/** `deno task simulate` runs more seeds. */
const SEEDS = [1, 2, 3];
/** Worlds of fixed bugs that cannot be planted again, because another fix hides them or they no longer show. */
const BROKE_ONCE = [
  410000198,
  416000332,
  310004866,
  330000339,
  15845,
  600004741,
  700001453,
  398338,
  1900005793,
  281695,
  466001020,
  505000705,
  1800003258,
  3054,
  2600005120,
  42887,
  5000003319,
  5000002179,
  5100030243,
  5100074738,
  103116,
  36,
];
/** Worlds of fixed bugs. */
const KEPT = [
  ...BROKE_ONCE,
  ...PLANTED.flatMap((bug) => bug.wasReal && !bug.isOfCards && !bug.focus ? [bug.seed] : []),
];
/** Worlds with card reads only: the first ones, and those that broke. */
const OF_CARDS = [...Array(forTier({ test: 10, all: 40 })).keys(), 2050, 13410, 14939, 15989, 900671, 901472, 1013632];
/** Broken worlds with one kind of action. */
const KEPT_OF_ONE = [
  { focus: "payments" as const, seed: 4300000223 },
  ...PLANTED.flatMap(({ wasReal, focus, seed }) => wasReal && focus ? [{ focus, seed }] : []),
];

/** In the short form every tenth of the worlds that broke once. A world is the same on either runtime. */
const kept = <T>(worlds: T[]) => worlds.filter((_, n) => isLong || n % 10 === 0);

test("all invariants hold in the simulated worlds", async () => {
  const sum = { events: 0, deliveries: 0, payments: 0 };
  for (const seed of new Set([...SEEDS, ...kept(KEPT)])) {
    const { broken, events, deliveries, payments, logged } = await run(seed);
    assert.deepEqual(broken, [], `seed ${seed}\n${logged.join("\n")}`);
    sum.events += events;
    sum.deliveries += deliveries;
    sum.payments += payments;
  }
  assert.ok(sum.events > 0 && sum.deliveries > 0 && sum.payments > 0, "nothing happened in them");
});

test("in worlds with card reads only, no read returns an older ledger than an earlier one", async () => {
  for (const seed of OF_CARDS) {
    const { broken } = await runCards(seed);
    assert.deepEqual(broken, [], `seed ${seed}`);
  }
});

test("all invariants hold in worlds with one kind of action, and the action happens", async () => {
  const done = {
    payments: "payments",
    keyless: "payments",
    claims: "events",
    history: "events",
    webhooks: "deliveries",
    requests: "events",
  } as const;
  const worlds = FOCUS_NAMES.map((focus) => ({ focus, seed: 101 }));
  for (const { focus, seed } of [...worlds, ...kept(KEPT_OF_ONE)]) {
    const result = await run(seed, { focus });
    assert.deepEqual(result.broken, [], `${focus}, seed ${seed}`);
    assert.ok(result[done[focus]] > 0, focus);
    assert.equal(result.payments > 0, done[focus] === "payments", focus);
  }
});

test("the product contains each text that a planted bug replaces", () => {
  const gone = PLANTED.filter(({ file, from }) => {
    return !readFileSync(fileURLToPath(import.meta.resolve(`../../${file}`)), "utf8").includes(from);
  });
  assert.deepEqual(gone.map(({ name }) => name), []);
});

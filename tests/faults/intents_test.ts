import assert from "node:assert/strict";
import process from "node:process";
import { test } from "node:test";
import { runIntents } from "./intents_run.ts";

/*
 * FAULT_INTENTS: how many payments are meant, 10 000 for the long form; FAULT_SEED: repeats the choices of an earlier run.
 */
const INTENTS = Number(process.env.FAULT_INTENTS ?? 40);
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000_000);

test(`${INTENTS} intents are paid once each, whatever is killed, lost or too late`, {
  timeout: 120_000 + INTENTS * 2_000,
}, async () => {
  const startedMs = Date.now();
  console.log(`FAULT_SEED=${SEED}`);
  const { applied, told, envelopes, counts, virtualHours } = await runIntents({
    seed: SEED,
    intents: INTENTS,
    store: "memory:",
  });
  console.log(JSON.stringify({ ...counts, envelopes: envelopes.reduce((a, b) => a + b, 0), virtualHours }));
  console.log(`${INTENTS} intents in ${Math.round((Date.now() - startedMs) / 1000)} s`);
  for (const [intent, hashes] of applied) {
    assert.equal(hashes.length, 1, `intent ${intent} was applied ${hashes.length} times: ${hashes}`);
    assert.equal(told.get(intent), hashes[0], `intent ${intent} was told another transaction`);
  }
  for (const [what, count] of Object.entries(counts)) {
    if (typeof count === "number" && INTENTS >= 1_000) assert.ok(count > 0, `nothing was ${what}`);
  }
  assert.ok(counts.kills > 0 && counts.lostAnswers > 0, "nobody was killed, and nothing lost");
});

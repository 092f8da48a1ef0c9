// needs: once
import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";
import { forTier } from "../tier.ts";
import { runIntents } from "./intents_run.ts";
import { STORE_KINDS, type StoreKind } from "./shared_stores.ts";

/*
 * FAULT_INTENTS: the number of payments, 10 000 for the long form, which is on one store; FAULT_STORE: this store, by
 * its name in `STORE_KINDS`; FAULT_SEED: repeats the choices of an earlier run.
 */
const LONG = process.env.FAULT_INTENTS;
const INTENTS = Number(LONG ?? forTier({ test: 16, all: 40 }));
const STORE = process.env.FAULT_STORE ?? (LONG === undefined ? undefined : "memory");
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000_000);

async function assertPaidOnce({ name, start }: StoreKind): Promise<void> {
  const startedMs = Date.now();
  console.log(`FAULT_STORE=${name} FAULT_SEED=${SEED}`);
  const run = await runIntents({ seed: SEED, intents: INTENTS, store: await start() });
  const { applied, told, envelopes, counts, virtualHours } = run;
  console.log(JSON.stringify({ ...counts, envelopes: envelopes.reduce((a, b) => a + b, 0), virtualHours }));
  console.log(`${INTENTS} intents in ${Math.round((Date.now() - startedMs) / 1000)} s`);
  for (const [intent, hashes] of applied) {
    assert.equal(hashes.length, 1, `intent ${intent} was applied ${hashes.length} times: ${hashes}`);
    assert.equal(told.get(intent), hashes[0], `intent ${intent} was told another transaction`);
  }
  for (const [what, count] of Object.entries(counts)) {
    if (typeof count === "number" && INTENTS >= 1_000) assert.ok(count > 0, `nothing was ${what}`);
  }
  assert.ok(counts.kills > 0, "nobody was killed");
  // A short run may have none.
  assert.ok(counts.unresolvedSubmissions > 0 || INTENTS < 40, "no answer was lost");
}

describe(`the gateways pay each of ${INTENTS} intents once, while gateways are killed and answers are lost`, () => {
  const chosen = STORE_KINDS.filter(({ name }) => STORE === undefined || name === STORE);
  assert.ok(chosen.length > 0, `FAULT_STORE must be one of ${STORE_KINDS.map(({ name }) => name)}`);
  for (const kind of chosen) {
    const name = kind.missing === undefined ? `on ${kind.name}` : `on ${kind.name}, which needs ${kind.missing}`;
    test(name, { skip: kind.missing !== undefined, timeout: 120_000 + INTENTS * 2_000 }, () => assertPaidOnce(kind));
  }
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { seededRandom } from "../faults/seeded_random.ts";
import { forTier, longOnly } from "../tier.ts";
import { replay as replayLimiters } from "./limiter_replay.ts";
import { replay as replayWorkers } from "./worker_replay.ts";
import { check, type Checked, LIMITER_MODEL, modelOf, PARTITIONS_MODEL, walk } from "./models.ts";
import type { State } from "./quint.ts";
import { keptTraces } from "./traces.ts";

/** The number of checked states. `MODEL_STATES=5000000` takes gigabytes and some quarters of an hour. */
const STATES = Number(process.env.MODEL_STATES ?? 20_000);
/** How many more traces are made and replayed. */
const WALKS = Number(process.env.MODEL_WALKS ?? forTier({ test: 3, all: 25 }));
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);

const MODELS: [Checked, (trace: State[]) => Promise<void>][] = [
  [PARTITIONS_MODEL, (trace) => replayWorkers(trace, 3, 3)],
  [LIMITER_MODEL, (trace) => replayLimiters(trace, 3, LIMITER_MODEL.bounds.traces["RATE"]!)],
];

/** The model's own result changes only with its file; the short form replays only the gateway. */
const ofModelAlone = { skip: process.env.MODEL_STATES === undefined && longOnly };

for (const [checked, replay] of MODELS) {
  describe(`the model of ${checked.name}`, () => {
    test("keeps its invariants in every state within its depth", ofModelAlone, () => {
      const { states, depth, isWhole, broken } = check(checked, "none", checked.bounds.all, { most: STATES });
      assert.equal(broken?.invariant, undefined, JSON.stringify(broken?.trace.map(({ taken }) => taken)));
      assert.ok(isWhole || states >= STATES);
      if (STATES > 20_000) console.log(`${checked.name}: ${states} states, every way of ${depth} steps`);
    });

    for (const flaw of checked.flaws) {
      test(`breaks an invariant when ${flaw}`, ofModelAlone, () => {
        const { broken } = check(checked, flaw, checked.bounds.flaws, { most: 200_000 });
        assert.ok(checked.invariants.includes(broken?.invariant ?? ""));
      });
    }

    for (const [file, trace] of keptTraces(checked.name)) {
      test(`matches the gateway: ${file}`, () => replay(trace));
    }

    test("matches the gateway on other paths", async () => {
      const model = modelOf(checked, "none", checked.bounds.traces);
      for (let seed = SEED; seed < SEED + WALKS; seed++) {
        const trace = walk(checked, model, seededRandom(seed).next, 60);
        await replay(trace).catch((cause) => {
          const steps = trace.map(({ taken }) => Object.values(taken).join(" ")).join(", ");
          throw new Error(`FAULT_SEED=${seed} MODEL_WALKS=1: ${steps}`, { cause });
        });
      }
    });
  });
}

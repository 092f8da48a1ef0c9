/*
 * Makes the traces in `traces/` anew, after a change of a model: `bun tests/model/make_traces.ts`. Those of a flaw are the
 * shortest ways to where that mistake would show; those of a seed wander through the model as it is.
 */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { seededRandom } from "../faults/seeded_random.ts";
import { check, follow, LIMITER_MODEL, modelOf, PARTITIONS_MODEL, walk } from "./models.ts";
import type { State } from "./quint.ts";
import { toItf } from "./traces.ts";

const FOLDER = new URL("./traces/", import.meta.url).pathname;
const WALKS = 8;
const STEPS = 60;

for (const file of readdirSync(FOLDER)) rmSync(join(FOLDER, file));
for (const checked of [PARTITIONS_MODEL, LIMITER_MODEL]) {
  const model = modelOf(checked, "none", checked.bounds.traces);
  const write = (file: string, description: string, trace: State[]) => {
    writeFileSync(join(FOLDER, `${checked.name}_${file}.itf.json`), toItf(checked.name, description, trace));
    console.log(`${checked.name} ${file}: ${trace.length} states`);
  };
  for (const flaw of checked.flaws) {
    const { broken } = check(checked, flaw, checked.bounds.flaws, { most: 1_000_000 });
    const trace = follow(model, broken!.trace);
    write(flaw.replaceAll(" ", "_"), `where "${flaw}" would show, as far as the gateway goes that way`, trace);
  }
  for (let seed = 1; seed <= WALKS; seed++) {
    write(`seed_${seed}`, `a walk of seed ${seed}`, walk(checked, model, seededRandom(seed).next, STEPS));
  }
}

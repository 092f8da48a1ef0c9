// Plants bugs, one at a time, into a copy of the product, and tells which world shows each: the one that is known to, or
// another of its kind. With --first, how many of its kind it takes, from the first on:
//   planted.ts [--only NAME] [--first N]
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { drawClimate } from "./climate.ts";
import { PLANTED, type PlantedBug } from "./planted_bugs.ts";
import { World } from "./world.ts";

/** How the simulation of a product with a bug ended. */
export interface Plantation {
  /** The first world that broke, and of what; undefined: none did. */
  found: { seed: number; why: string } | undefined;
  /** All that it said. */
  said: string;
  seconds: number;
}

/** So many of its kind are lived through when its world does not break any more, as after any change of when things happen. */
const WORLDS = 250;

const root = fileURLToPath(import.meta.resolve("../.."));

/** A copy of the product in which bugs are planted. */
export function openNursery(): {
  /** Lives through the worlds of these seeds until one breaks. */
  plant(bug: PlantedBug, seeds: readonly number[]): Promise<Plantation>;
  close(): void;
} {
  const folder = mkdtempSync(join(tmpdir(), "gateway-planted-"));
  for (const part of ["lib", "cli", "tests", "docs", "package.json", "deno.json"]) {
    // What cargo builds of the contracts comes and goes, also while this copies.
    cpSync(join(root, part), join(folder, part), { recursive: true, filter: (path) => basename(path) !== "target" });
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));

  async function simulate(seeds: readonly number[], kindOfWorld: string[]): Promise<Plantation> {
    const began = performance.now();
    const command = process.versions.bun ? [] : ["run", "-A", "--no-check"];
    const script = "tests/simulation/simulate.ts";
    const args = [...command, script, "--these", seeds.join(), "--until-broken", ...kindOfWorld];
    const said = await promisify(execFile)(process.execPath, args, { cwd: folder, maxBuffer: 1 << 26 })
      .then(({ stdout }) => stdout, ({ stdout, stderr }) => `${stdout}${stderr}`);
    const [, seed, why] = /^seed (\d+) .*breaks:\n\s*(.*)/m.exec(said) ?? [];
    const seconds = (performance.now() - began) / 1_000;
    return { found: seed === undefined ? undefined : { seed: Number(seed), why: why! }, said, seconds };
  }

  return {
    async plant({ name, file, from: right, to: wrong, isOfCards, focus }, seeds) {
      const path = join(folder, file);
      const source = readFileSync(path, "utf8");
      if (!source.includes(right)) throw new Error(`"${name}": ${file} does not hold what is to be changed`);
      writeFileSync(path, source.replace(right, () => wrong));
      try {
        return await simulate(seeds, isOfCards ? ["--cards"] : focus === undefined ? [] : ["--focus", focus]);
      } finally {
        writeFileSync(path, source);
      }
    },
    close: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The first seeds whose worlds may show a bug. */
export function worldsFor({ kind = () => true }: PlantedBug, count: number): number[] {
  const seeds: number[] = [];
  for (let seed = 1; seeds.length < count; seed++) {
    if (kind(drawClimate(new World(seed)))) seeds.push(seed);
  }
  return seeds;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { only: { type: "string", default: "" }, first: { type: "string" } } });
  const nursery = openNursery();
  let missed = 0;
  for (const bug of PLANTED.filter(({ name }) => name.includes(values.only))) {
    const ofItsKind = worldsFor(bug, Number(values.first ?? WORLDS));
    const { found, said, seconds } = await nursery.plant(bug, values.first ? ofItsKind : [bug.seed, ...ofItsKind]);
    if (found === undefined) missed++;
    const what = found === undefined
      ? `not found | ${said.trim().split("\n").at(-1)}`
      : `${values.first ? `${ofItsKind.indexOf(found.seed) + 1}: ` : ""}world ${found.seed} | ${found.why}`;
    const isElsewhere = values.first === undefined && found !== undefined && found.seed !== bug.seed;
    console.log(`| ${bug.name} | ${what} | ${seconds.toFixed(0)} s |${isElsewhere ? ` no longer in ${bug.seed}` : ""}`);
  }
  nursery.close();
  console.log(`${PLANTED.length} planted bugs, ${missed} not found`);
  process.exit(missed === 0 ? 0 : 1);
}

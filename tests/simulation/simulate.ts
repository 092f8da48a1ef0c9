// Lives through simulated worlds, one for each seed, until time or seeds are over:
//   simulate.ts [--seeds N] [--from SEED] [--minutes M] [--misfortunes K] [--show] [--until-broken]
// A world that breaks is lived through again with fewer misfortunes, until as few are left as break it.
import process from "node:process";
import { parseArgs } from "node:util";
import { run } from "./run.ts";

/** How many of a seed's misfortunes it takes; that fewer could do in another order is not looked for. */
async function fewestMisfortunes(seed: number): Promise<number> {
  let [harmless, harmful] = [-1, 256];
  while (harmful - harmless > 1) {
    const middle = (harmless + harmful) >> 1;
    const { broken } = await run(seed, { misfortunes: middle });
    if (broken.length > 0) harmful = middle;
    else harmless = middle;
  }
  return harmful;
}

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    minutes: { type: "string", default: "1000000" },
    misfortunes: { type: "string", default: "1000000" },
    show: { type: "boolean", default: false },
    "until-broken": { type: "boolean", default: false },
  },
});
const [from, seeds, minutes] = [Number(values.from), Number(values.seeds), Number(values.minutes)];
const beganMs = performance.now();
const spentMs = () => performance.now() - beganMs;
let [lived, failed, steps, simulatedMs, events, deliveries, payments] = [0, 0, 0, 0, 0, 0, 0];
for (let seed = from; seed < from + seeds && spentMs() < minutes * 60_000; seed++) {
  const said = values.show ? (line: string) => console.log(line) : undefined;
  const result = await run(seed, { said, misfortunes: Number(values.misfortunes) });
  lived++;
  steps += result.steps;
  simulatedMs += result.simulatedMs;
  events += result.events;
  deliveries += result.deliveries;
  payments += result.payments;
  if (values.show) { for (const line of result.logged) console.log(line); }
  if (seeds === 1) console.log(`seed ${seed}: trace ${result.trace}`);
  if (result.broken.length === 0) continue;
  failed++;
  console.log(`seed ${seed} (trace ${result.trace}) breaks:`);
  for (const what of result.broken.slice(0, 5)) console.log(`  ${what}`);
  if (values["until-broken"]) break;
  if (!values.show) {
    console.log(`  shortest: --seeds 1 --from ${seed} --misfortunes ${await fewestMisfortunes(seed)} --show`);
  }
}
const seconds = spentMs() / 1_000;
console.log(
  `${lived} worlds in ${seconds.toFixed(0)} s: ${(simulatedMs / 3_600_000).toFixed(1)} hours, ${steps} steps, ` +
    `${events} events, ${deliveries} deliveries, ${payments} payments; ${failed} failed`,
);
process.exit(failed > 0 ? 1 : 0);

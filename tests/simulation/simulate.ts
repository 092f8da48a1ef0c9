// Lives through simulated worlds, one for each seed: `--help` says how many and which.
import process from "node:process";
import { parseArgs } from "node:util";
import { MISFORTUNES } from "./climate.ts";
import { runCards } from "./card_worlds.ts";
import { type Focus, FOCUS_NAMES } from "./focus.ts";
import { run, type RunOptions } from "./run.ts";

const HELP = `Usage: simulate.ts [FLAGS]

Lives through simulated worlds, one for each seed, until seeds or time are over. A world that breaks is lived through again
with fewer misfortunes, and without some kinds of them, for as long as it breaks; how to repeat the shortest form is printed.

  --seeds N             As many worlds (1000000)
  --from SEED           The first of them (1)
  --these SEED,SEED     These worlds instead
  --seconds N           For so long at most
  --misfortunes K       The first K misfortunes only
  --without KIND,KIND   No misfortune of these kinds: ${MISFORTUNES.join(", ")}
  --show                Print what happens in each world
  --traces              Print each world's trace, by which two runs are compared
  --until-broken        End at the first world that breaks
  --cards               Worlds in which nothing is done but look at cards
  --focus WHAT          Of whole gateways, but nothing is done except ${FOCUS_NAMES.join(", ")}
`;

/** More than a world has. */
const MOST_MISFORTUNES = 2_048;

/** How a broken world is told shortest: that fewer could do in another order is not looked for. */
async function shortened(seed: number): Promise<string> {
  const breaks = async (fewer: RunOptions) => (await liveThrough(seed, { focus, ...fewer })).broken.length > 0;
  let [harmless, misfortunes] = [-1, MOST_MISFORTUNES];
  while (misfortunes - harmless > 1) {
    const middle = (harmless + misfortunes) >> 1;
    if (await breaks({ misfortunes: middle })) misfortunes = middle;
    else harmless = middle;
  }
  const without: string[] = [];
  for (const kind of misfortunes > 0 ? MISFORTUNES : []) {
    if (await breaks({ misfortunes, without: [...without, kind] })) without.push(kind);
  }
  const kinds = without.length > 0 ? ` --without ${without.join()}` : "";
  const kindOfWorld = (values.cards ? " --cards" : "") + (focus === undefined ? "" : ` --focus ${focus}`);
  return `--seeds 1 --from ${seed} --misfortunes ${misfortunes}${kinds}${kindOfWorld} --show`;
}

function* seedsFrom(first: number, count: number): Iterable<number> {
  for (let seed = first; seed < first + count; seed++) yield seed;
}

/** Says what is meant, or what is wrong with it, instead of living through a million worlds. */
function ended(text: string, code: number): never {
  (code === 0 ? console.log : console.error)(text);
  process.exit(code);
}

const OPTIONS = {
  seeds: { type: "string", default: "1000000" },
  from: { type: "string", default: "1" },
  these: { type: "string" },
  seconds: { type: "string", default: "Infinity" },
  misfortunes: { type: "string", default: "Infinity" },
  without: { type: "string" },
  show: { type: "boolean", default: false },
  traces: { type: "boolean", default: false },
  "until-broken": { type: "boolean", default: false },
  cards: { type: "boolean", default: false },
  focus: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

function parsed() {
  try {
    return parseArgs({ options: OPTIONS }).values;
  } catch (error) {
    return ended(`${(error as Error).message}\nSee: simulate.ts --help`, 2);
  }
}

const values = parsed();
if (values.help) ended(HELP, 0);
for (const name of ["seeds", "from", "these", "seconds", "misfortunes"] as const) {
  // No world is lived through for NaN seeds, and none of them fails.
  const parts = name === "these" ? values.these?.split(",") : [values[name]];
  const isNumbers = parts?.every((text) => text!.trim() !== "" && Number(text) >= 0) ?? true;
  if (!isNumbers) ended(`--${name} must be a number, got ${values[name]}\nSee: simulate.ts --help`, 2);
}
const focus = values.focus as Focus | undefined;
if (focus !== undefined && !FOCUS_NAMES.includes(focus)) {
  ended(`--focus must be one of ${FOCUS_NAMES.join(", ")}, got ${focus}\nSee: simulate.ts --help`, 2);
}
const liveThrough = values.cards ? runCards : run;
const these = values.these?.split(",").map(Number);
const seconds = Number(values.seconds);
const options: RunOptions = {
  misfortunes: Number(values.misfortunes),
  without: values.without?.split(","),
  focus,
  said: values.show ? (line) => console.log(line) : undefined,
};
/** Whoever ends it early hears what was lived through until then. */
let isEnded = false;
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => isEnded = true);
const beganMs = performance.now();
const spentSeconds = () => (performance.now() - beganMs) / 1_000;
const sum = { lived: 0, failed: 0, steps: 0, simulatedMs: 0, events: 0, deliveries: 0, payments: 0 };
for (const seed of these ?? seedsFrom(Number(values.from), Number(values.seeds))) {
  if (isEnded || spentSeconds() >= seconds) break;
  const result = await liveThrough(seed, options);
  sum.lived++;
  for (const name of ["steps", "simulatedMs", "events", "deliveries", "payments"] as const) sum[name] += result[name];
  if (values.show) { for (const line of result.logged) console.log(line); }
  if (values.seeds === "1" || values.traces) console.log(`seed ${seed}: trace ${result.trace}`);
  if (result.broken.length === 0) continue;
  sum.failed++;
  console.log(`seed ${seed} (trace ${result.trace}) breaks:`);
  for (const what of result.broken.slice(0, 5)) console.log(`  ${what}`);
  if (values["until-broken"]) break;
  if (!values.show) console.log(`  shortest: ${await shortened(seed)}`);
}
console.log(
  `${sum.lived} worlds in ${spentSeconds().toFixed(0)} s: ${(sum.simulatedMs / 3_600_000).toFixed(1)} hours, ` +
    `${sum.steps} steps, ${sum.events} events, ${sum.deliveries} deliveries, ${sum.payments} payments; ` +
    `${sum.failed} failed`,
);
process.exit(sum.failed > 0 ? 1 : 0);

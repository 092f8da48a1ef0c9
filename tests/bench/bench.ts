// Measures what measures are for, and prints one table. Needs wrk and taskset, and two CPUs that nobody else uses:
//   BENCH_BUN=$(which bun) BENCH_DENO=$(which deno) bun tests/bench/bench.ts [http|write|payment|webhook|start|movement|export|postgres …]
//     [bun|deno …] [--short]
// `export` measures on PostgreSQL, too, where it is installed.
// `postgres` needs PostgreSQL and pgbouncer, too, and an hour for each runtime, with --short eight minutes: it has to be named.
import { cpus } from "node:os";
import { dirname } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import packageJson from "../../package.json" with { type: "json" };
import { exportFigures } from "./export_bench.ts";
import { type Figure, table } from "./figures.ts";
import { httpFigures } from "./http_bench.ts";
import { movementFigures } from "./movement_bench.ts";
import { paymentFigures } from "./payment_bench.ts";
import { postgresFigures } from "./postgres_bench.ts";
import { RUNTIMES } from "./processes.ts";
import { startFigures } from "./start_bench.ts";
import { webhookFigures } from "./webhook_bench.ts";
import { writeFigures } from "./write_bench.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const PARTS = ["http", "write", "payment", "webhook", "start", "movement", "export"];
const NAMED_PARTS = ["postgres"];
const { values: { short }, positionals } = parseArgs({
  options: { short: { type: "boolean" } },
  allowPositionals: true,
});
const parts = positionals.filter((name) => [...PARTS, ...NAMED_PARTS].includes(name));
const runtimes = RUNTIMES.filter((runtime) => positionals.includes(runtime));
if (parts.length + runtimes.length < positionals.length) throw new Error(`unknown among ${positionals.join(", ")}`);
const wanted = (name: string) => (parts.length === 0 ? PARTS : parts).includes(name);

const figures: Figure[] = [];
// First: without the paths above it fails at once.
if (wanted("start")) figures.push(...await startFigures(root));
for (const runtime of runtimes.length === 0 ? RUNTIMES : runtimes) {
  if (wanted("http")) figures.push(...await httpFigures(root, runtime));
  if (wanted("webhook")) figures.push(...await webhookFigures(root, runtime));
  if (wanted("write")) figures.push(...await writeFigures(root, runtime));
  if (wanted("payment")) figures.push(...await paymentFigures(root, runtime));
  if (wanted("movement")) figures.push(...await movementFigures(root, runtime));
  if (wanted("export")) figures.push(...await exportFigures(root, runtime, short === true));
  if (wanted("postgres")) figures.push(...await postgresFigures(root, runtime, short === true));
}

const { bun, deno } = packageJson.config;
process.stdout.write(
  `${table(figures.toSorted((a, b) => Number(a.number) - Number(b.number)))}\n\n` +
    `Bun ${bun}, Deno ${deno}, ${cpus().length} × ${
      cpus()[0]?.model ?? "CPU"
    }; medians (lowest–highest) of rounds taken in turns.\n`,
);
process.exit(0);

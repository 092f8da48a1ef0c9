import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { environment } from "../e2e/sandbox_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { runtimeCommand, type RuntimeName, startPinned } from "./processes.ts";

const ROUNDS = 5;
const DELIVERIES = 20_000;

/** #7: deliveries to a local receiver, durable and signed, against a bare loop of POSTs. */
export async function webhookFigures(root: string, runtime: RuntimeName): Promise<Figure[]> {
  // One receiver for all: what is measured is the sender.
  const receiver = await startPinned(1, [...runtimeCommand("bun"), join(root, "tests/bench/webhook_receiver.ts")]);
  const url = receiver.line;
  const heard = async () => Number(await (await fetch(url)).text());
  const send = async (args: string[]) => {
    const before = await heard();
    const sender = [...runtimeCommand(runtime), join(root, "tests/bench/webhook_sender.ts"), ...args];
    const { stdout } = await promisify(execFile)("taskset", ["-c", "0", ...sender], { env: environment() });
    if (await heard() - before !== DELIVERIES) throw new Error("void: not every delivery arrived once");
    const { seconds, cpuMicroseconds } = JSON.parse(stdout) as { seconds: number; cpuMicroseconds: number };
    return { perSecond: DELIVERIES / seconds, cpuEach: cpuMicroseconds / DELIVERIES };
  };
  try {
    const figures: Figure[] = [];
    for (const [subscriptions, goal] of [[1, "≥ 0.40, ≤ 60 µs"], [100, "≥ 0.60, ≤ 60 µs"]] as const) {
      const rounds = [];
      for (let round = 0; round < ROUNDS; round++) {
        const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
        const store = runtime === "bun" ? `sqlite:${folder}/g.db` : `deno-kv:${folder}/g.kv`;
        const reference = await send(["bare", url, String(DELIVERIES)]);
        const ours = await send(["gateway", url, String(DELIVERIES), String(subscriptions), store]);
        rounds.push({ reference, ours });
        rmSync(folder, { recursive: true, force: true });
      }
      const perSecond = median(rounds.map(({ ours }) => ours.perSecond)).toFixed(0);
      figures.push({
        number: "7",
        work: `webhook deliveries, ${subscriptions} subscription${subscriptions === 1 ? "" : "s"}`,
        runtime,
        measured: `${perSecond}/s, ${withSpread(rounds.map(({ ours }) => ours.cpuEach), 0)} µs each`,
        reference: `bare node:http, 64 in flight: ${median(rounds.map((r) => r.reference.perSecond)).toFixed(0)}/s`,
        ratio: withSpread(rounds.map(({ ours, reference }) => ours.perSecond / reference.perSecond), 2),
        goal,
      });
    }
    return figures;
  } finally {
    await receiver.stop();
  }
}

import { spawn } from "node:child_process";
import { setTimeout as passed } from "node:timers/promises";
import { asArguments, environment, flagsFor } from "../e2e/sandbox_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import type { PaymentsBench } from "./payment_store.ts";
import { innermost, peakMib, PINNED } from "./processes.ts";

const SAMPLE_MS = 20;

/** #19: `gateway report` of all payments. */
export async function reportFigure(
  { runtime, kind, store, payments, rounds, info }: PaymentsBench,
  { url, key }: { url: string; key: string },
  program: string[],
): Promise<Figure> {
  const from = await firstMovement(url, key);
  const { "network-passphrase": passphrase, "payment-escrow": escrow } = flagsFor(info);
  const flags = asArguments({
    store,
    "network-passphrase": passphrase!,
    "payment-escrow": escrow!,
    from,
    to: "2100-01-01",
  });
  const measured = [];
  for (let round = 0; round < rounds; round++) {
    const one = await run([...PINNED, ...program, "report", "--json", ...flags]);
    const { assets } = JSON.parse(one.stdout);
    const opening = assets.find(({ asset }: { asset: string }) => asset === info.asset)?.opening;
    // Claims of payments that nobody funded.
    const wanted = -(1_000_000n * BigInt(payments) + BigInt(payments) * BigInt(payments - 1) / 2n);
    if (BigInt(opening ?? 0) !== wanted) throw new Error(`the report opens with ${opening}, not ${wanted}`);
    measured.push(one);
  }
  return {
    number: "19",
    work: `gateway report, ${payments} payments on ${kind}`,
    runtime,
    measured: `${withSpread(measured.map(({ ms }) => ms / 1_000), 1)} s`,
    reference: "–",
    ratio: `peak memory ${median(measured.map(({ peak }) => peak)).toFixed(0)} MiB`,
    goal: "–",
  };
}

/** The close time of the first movement, when the payments hold up to the last event of a card's life. */
async function firstMovement(url: string, key: string): Promise<string> {
  const get = async (path: string) => {
    const response = await fetch(`${url}/v1/${path}`, { headers: { authorization: `Bearer ${key}` } });
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}`);
    return await response.json();
  };
  for (;; await passed(SAMPLE_MS)) {
    const { events: [last] } = await get("events?types=device.revoked&order=desc&limit=1");
    const { latestLedger } = await get("payments?limit=1");
    if (last === undefined || latestLedger < last.ledger) continue;
    const { events: [first] } = await get("events?types=escrow.funded&order=asc&limit=1");
    return first.ledgerClosedAt;
  }
}

async function run([command, ...args]: string[]): Promise<{ ms: number; stdout: string; peak: number }> {
  const beganAt = performance.now();
  const child = spawn(command!, args, { stdio: ["ignore", "pipe", "inherit"], env: environment() });
  let [stdout, peak] = ["", 0];
  child.stdout.setEncoding("utf8").on("data", (text: string) => stdout += text);
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let code: number | null | undefined;
  void ended.then((status) => code = status);
  while (code === undefined) {
    try {
      peak = Math.max(peak, peakMib(innermost(child.pid!)));
    } catch {
      // It has just ended.
    }
    await Promise.race([ended, passed(SAMPLE_MS)]);
  }
  if (code !== 0) throw new Error(`${[command, ...args].join(" ")} ended with ${code}`);
  return { ms: performance.now() - beganAt, stdout, peak };
}

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as passed } from "node:timers/promises";
import { promisify } from "node:util";
import { formatEventId } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { MAX_PAYMENT_ROWS, type StoredPayment } from "../../lib/store/payment.ts";
import { flagsFor, makeKey, type SandboxInfo, startSandbox } from "../e2e/sandbox_process.ts";
import { startServe } from "../faults/serve_process.ts";
import { watcherLease } from "../store/samples.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { residentMib, runtimeCommand, type RuntimeName } from "./processes.ts";

const PINNED = ["taskset", "-c", "0"];
const SAMPLE_MS = 50;
/** A tenth of the cards and merchants of a large customer. */
const [CARDS, MERCHANTS] = [10_000, 1_000];

/** #19: all payments as CSV over HTTP, against a reader of the same pages straight from the store. */
export async function exportFigures(root: string, runtime: RuntimeName, isShort: boolean): Promise<Figure[]> {
  const [payments, rounds] = isShort ? [100_000, 3] : [1_000_000, 5];
  const folder = mkdtempSync(join(tmpdir(), "gateway-bench-"));
  const store = `sqlite:${folder}/gateway.db`;
  const command = runtimeCommand(runtime);
  const program = [...command, join(root, "main.ts")];
  const network = await startSandbox(program);
  try {
    await fill(store, payments, network.info);
    const key = await makeKey(program, store, { scopes: "read", rate: 1_000_000 });
    const gateway = await startServe(flagsFor(network.info, { store, "log-level": "info" }), {
      command: [...PINNED, ...program],
    });
    try {
      const download = (query = "") => downloaded(`${gateway.url}/v1/payments?format=csv${query}`, key, gateway.pid);
      for (let warmUp = 0; warmUp < 3; warmUp++) await download("&limit=1000");
      const before = residentMib(gateway.pid);
      const measured = [];
      for (let round = 0; round < rounds; round++) {
        const rawMs = await readRaw(
          [...PINNED, ...command, join(root, "tests/bench/read_payments.ts"), store],
          payments,
        );
        const file = await download();
        if (file.lines !== payments + 1) throw new Error(`the file has ${file.lines} lines`);
        measured.push({ rawMs, ...file });
      }
      const peaks = measured.map(({ peakMib }) => peakMib);
      const [first, more] = [peaks[0]! - before, peaks.at(-1)! - peaks[0]!];
      const seconds = (ms: number[]) => `${(median(ms) / 1_000).toFixed(1)} s`;
      return [{
        number: "19",
        work: `GET /v1/payments as CSV, ${payments} payments on sqlite`,
        runtime,
        measured: `${seconds(measured.map(({ ms }) => ms))}, ${first.toFixed(0)} MiB more in the first round, ${
          more.toFixed(0)
        } in the last`,
        reference: `its pages read from the store: ${seconds(measured.map(({ rawMs }) => rawMs))}`,
        ratio: withSpread(measured.map(({ ms, rawMs }) => ms / rawMs), 2),
        goal: "≤ 3; ≤ 64 MiB",
      }];
    } finally {
      gateway.signal("SIGTERM");
      await gateway.ended;
    }
  } finally {
    await network.stop();
    rmSync(folder, { recursive: true });
  }
}

async function fill(
  setting: string,
  payments: number,
  { contracts, asset, accounts }: SandboxInfo,
): Promise<void> {
  const store = await openStore(setting);
  const lease = await watcherLease(store);
  const paymentOf = (n: number): StoredPayment => {
    const ledger = 100 + n;
    return {
      id: formatEventId({ epoch: 0, ledger, order: 4_096, index: 0 }),
      state: "claimed",
      contractId: contracts.paymentEscrow,
      ledger,
      authorizedAt: 1_750_000_000 + n,
      txHash: n.toString(16).padStart(64, "a"),
      deviceHash: (n % CARDS).toString(16).padStart(64, "c"),
      merchant: merchants[n % MERCHANTS]!,
      amount: String(1_000_000 + n),
      agent: accounts.agent.address,
      asset,
      expiresAtLedger: ledger + 17_280,
      claim: {
        eventId: formatEventId({ epoch: 0, ledger: ledger + 50, order: 4_096, index: 0 }),
        txHash: n.toString(16).padStart(64, "b"),
        ledger: ledger + 50,
        claimedAt: 1_750_000_250 + n,
        asset,
      },
    };
  };
  const { Keypair } = await import("@stellar/stellar-sdk");
  const merchants = Array.from({ length: MERCHANTS }, () => Keypair.random().publicKey());
  try {
    for (let n = 0; n < payments; n += MAX_PAYMENT_ROWS) {
      const rows = Array.from({ length: Math.min(MAX_PAYMENT_ROWS, payments - n) }, (_, at) => paymentOf(n + at));
      await store.payments.commit({ lease, rows });
      if (n % 1_000 === 0) await store.leases.renew([lease], 60_000);
    }
  } finally {
    await store.leases.release([lease]);
    await store.close();
  }
}

/** Milliseconds of the reader, by its own clock. */
async function readRaw([program, ...args]: string[], payments: number): Promise<number> {
  const { stdout } = await promisify(execFile)(program!, args);
  const { rows, ms } = JSON.parse(stdout);
  if (rows !== payments) throw new Error(`the reader found ${rows} payments`);
  return ms;
}

async function downloaded(
  url: string,
  key: string,
  pid: number,
): Promise<{ ms: number; lines: number; peakMib: number }> {
  let [peakMib, isOver, lines] = [0, false, 0];
  const watched = (async () => {
    while (!isOver) {
      peakMib = Math.max(peakMib, residentMib(pid));
      await passed(SAMPLE_MS);
    }
  })();
  const beganAt = performance.now();
  const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  for await (const piece of response.body!) for (const byte of piece) if (byte === 10) lines += 1;
  const ms = performance.now() - beganAt;
  isOver = true;
  await watched;
  return { ms, lines, peakMib };
}

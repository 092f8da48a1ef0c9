import { createClient, signed } from "../e2e/client.ts";
import { makeKey, type SandboxInfo, startSandbox } from "../e2e/sandbox_process.ts";
import { type Figure, median } from "./figures.ts";
import { runtimeCommand, type RuntimeName } from "./processes.ts";

/** How many lives of a card are played where ledgers close so often (milliseconds; 0: for each transaction at once). */
const LIVES = { 0: 20, 120: 10, 1_000: 3, 5_000: 2 };

interface Took {
  /** The first prepare of each kind, for which contracts' code is read. */
  first: number[];
  prepares: number[];
  reads: number[];
}

/** #18: how long a prepare, and a read of the device, take right after each kind of movement; one client. */
export async function movementFigures(root: string, runtime: RuntimeName): Promise<Figure[]> {
  const command = [...runtimeCommand(runtime), `${root}/main.ts`];
  const figures: Figure[] = [];
  for (const [ledgerMs, lives] of Object.entries(LIVES)) {
    const sandbox = await startSandbox(command, ["--ledger-ms", ledgerMs]);
    try {
      const apiKey = await makeKey(command, sandbox.info.store, { scopes: "read,write", rate: 1_000_000 });
      const took: Took = { first: [], prepares: [], reads: [] };
      for (let life = 0; life < lives; life++) await playLife({ ...sandbox.info, apiKey }, life, took);
      const of = (what: string, goal: string, values: number[], more = ""): Figure => ({
        number: "18",
        work: `${what} right after a movement, ledgers of ${ledgerMs} ms`,
        runtime,
        measured: `p95 ${percentile(values, 0.95).toFixed(1)} ms, median ${median(values).toFixed(1)}${more}`,
        reference: "–",
        ratio: "–",
        goal,
      });
      const first = `; first of its kind ${median(took.first).toFixed(1)}`;
      figures.push(of("prepare", "≤ 60 ms, or 2 × the first", took.prepares, first), of("read", "≤ 10 ms", took.reads));
    } finally {
      await sandbox.stop();
    }
  }
  return figures;
}

/** All movements of one card. After every other one the device is read before the next is prepared. */
async function playLife(info: SandboxInfo, life: number, took: Took): Promise<void> {
  const { owner, agent, merchant } = info.accounts;
  const { asset } = info;
  const deviceHash = (life + 1).toString(16).padStart(64, "0");
  const api = createClient(info.gateway, info.apiKey);
  const steps: [typeof owner, Record<string, unknown>][] = [
    [owner, { kind: "registerDevice", deviceHash, agent: agent.address }],
    [owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "0" }],
    [owner, { kind: "fundEscrow", deviceHash, asset, amount: "100" }],
    [agent, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "1" }],
    [merchant, { kind: "claim", asset }],
    [owner, { kind: "defundEscrow", deviceHash, asset, amount: "10" }],
    [owner, { kind: "revokeAgent", deviceHash }],
    [owner, { kind: "sweepEscrow", deviceHash, asset, agent: agent.address }],
  ];
  for (const [nth, [{ address, secret }, operation]] of steps.entries()) {
    const [prepareMs, { body }] = await timed(() =>
      api.post("/v1/transactions/prepare", { source: address, operation })
    );
    (life === 0 ? took.first : took.prepares).push(prepareMs);
    const xdr = signed(body.xdr, body.networkPassphrase, secret);
    await timed(() => api.post("/v1/transactions/submit", { xdr }));
    if ((nth + life) % 2 === 0) took.reads.push((await timed(() => api.get(`/v1/devices/${deviceHash}`)))[0]);
  }
}

/** Milliseconds, and the answer, which has to be a success. */
async function timed<A extends { status: number; body: unknown }>(ask: () => Promise<A>): Promise<[number, A]> {
  const beganMs = performance.now();
  const answer = await ask();
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return [performance.now() - beganMs, answer];
}

function percentile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))]!;
}

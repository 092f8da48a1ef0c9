// needs: once
import assert from "node:assert/strict";
import process from "node:process";
import { after, before, test } from "node:test";
import { createClient } from "../e2e/client.ts";
import { type SandboxInfo, type SandboxProcess, startSandbox } from "../e2e/sandbox_process.ts";
import { folderForTests } from "../folder.ts";
import { forTier } from "../tier.ts";
import { until } from "../until.ts";
import { type MoodyReceiver, startMoodyReceiver } from "./moody_receiver.ts";
import { seededRandom } from "./seeded_random.ts";

/*
 * The program itself, `gateway sandbox --state`, is killed with all that is in it: network, RPC server and gateway. Here
 * time passes as it does, so endpoints answer or hang, and what a kill left leased is waited for.
 */
const KILLS = Number(process.env.FAULT_SANDBOX_KILLS ?? forTier({ test: 3, all: 8 }));
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000_000);
const LIFE_MS = 1_500;
const DEVICE = "ab".repeat(32);
/** A lease, a time-out and a retry, one after the other. */
const DRAIN_TIMEOUT_MS = 300_000;

const random = seededRandom(SEED);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const folder = folderForTests();
let receiver: MoodyReceiver;
before(async () => {
  receiver = await startMoodyReceiver((name) => name === "well" ? { ok: 1 } : { ok: 0.7, hang: 0.3 }, random);
});
after(() => receiver.close());

const live = () => startSandbox(undefined, ["--state", folder]);

/** Funds the card until the gateway ends, and collects the confirmed transactions. */
async function fundOnAndOn({ gateway, apiKey, accounts, asset }: SandboxInfo, confirmed: string[]): Promise<void> {
  const api = createClient(gateway, apiKey);
  const { owner } = accounts;
  for (;;) {
    const operation = { kind: "fundEscrow", deviceHash: DEVICE, asset, amount: "1" };
    const answer = await api.write(owner, operation).catch(() => undefined);
    if (answer === undefined) return;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    confirmed.push(answer.body.hash);
  }
}

/** The transactions of the escrow's events in the ledger's order, from the node itself. */
async function fundings({ rpc, contracts }: SandboxInfo): Promise<string[]> {
  const filters = [{ type: "contract", contractIds: [contracts.paymentEscrow] }];
  const params = { startLedger: 2, filters, pagination: { limit: 10_000 } };
  const response = await fetch(rpc, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "getEvents", params }),
  });
  const { result } = await response.json();
  return result.events.map(({ txHash }: { txHash: string }) => txHash);
}

/** The transactions whose events this webhook accepted, in the order of their first arrival. */
function arrivals(name: string): string[] {
  const receipts = receiver.receipts.filter((one) => one.listener === name && one.mood === "ok");
  return [...new Set(receipts.map(({ event }) => event.txHash))];
}

async function drained(sandbox: SandboxProcess, expected: number): Promise<void> {
  const api = createClient(sandbox.info.gateway, sandbox.info.apiKey);
  for (const deadlineMs = Date.now() + DRAIN_TIMEOUT_MS; Date.now() < deadlineMs;) {
    const { pending } = (await api.get("/v1/status")).body.deliveries;
    if (pending === 0 && arrivals("well").length === expected && arrivals("moody").length === expected) {
      return;
    }
    await pause(100);
  }
}

test(`a sandbox that is killed ${KILLS} times keeps confirmed transactions, and its webhooks get every event`, {
  timeout: 2 * DRAIN_TIMEOUT_MS + KILLS * 60_000,
}, async () => {
  console.log(`FAULT_SEED=${SEED}`);
  const first = await live();
  const api = createClient(first.info.gateway, first.info.apiKey);
  const { owner, agent } = first.info.accounts;
  await api.write(owner, { kind: "registerDevice", deviceHash: DEVICE, agent: agent.address });
  const types = ["escrow.funded"];
  for (const name of ["well", "moody"]) {
    assert.equal((await api.post("/v1/webhooks", { url: `${receiver.url}/${name}`, types })).status, 201);
  }
  await first.stop("SIGKILL");

  const confirmed: string[] = [];
  for (let kill = 1; kill < KILLS; kill++) {
    const sandbox = await live();
    const funding = fundOnAndOn(sandbox.info, confirmed);
    await pause(random.between(0, LIFE_MS));
    // On a busy machine no earlier process may have confirmed a transaction.
    if (kill === KILLS - 1) await until(() => confirmed.length > 0);
    await sandbox.stop("SIGKILL");
    await funding;
  }

  receiver.calmDown();
  const last = await live();
  const expected = await fundings(last.info);
  assert.ok(confirmed.every((hash) => expected.includes(hash)), "what was confirmed is there");
  await drained(last, expected.length);
  console.log(`${expected.length} events, ${receiver.receipts.length} posts`);
  for (const name of ["well", "moody"]) assert.deepEqual(arrivals(name).toSorted(), expected.toSorted());
  assert.equal(await last.stop(), 0, last.log());
});

import { createClient } from "../e2e/client.ts";
import { makeKey, newAccount, type SandboxInfo, startSandbox } from "../e2e/sandbox_process.ts";
import { type Figure, withSpread } from "./figures.ts";
import { runtimeCommand, type RuntimeName } from "./processes.ts";

const ROUNDS = 5;
const ROUND_MS = 8000;
const PAYERS = 48;
/** What is not claimed makes each of a merchant's payments dearer: the contract holds it in one entry. */
const PAYMENTS_PER_CLAIM = 10;

/**
 * #15: whole payments a second (`authorize`: prepared, signed, submitted, confirmed) through gateway and sandbox, which are
 * one process, from payers that pay one after the other at a merchant of their own, who claims every now and then.
 */
export async function paymentFigures(root: string, runtime: RuntimeName): Promise<Figure[]> {
  const command = [...runtimeCommand(runtime), `${root}/main.ts`];
  const sandbox = await startSandbox(command);
  try {
    const { info } = sandbox;
    const apiKey = await makeKey(command, info.store, { scopes: "read,write", rate: 1_000_000 });
    const payers = [];
    for (let n = 1; n <= PAYERS; n++) payers.push(await newPayer({ ...info, apiKey }, n));
    await paymentsPerSecond(payers);
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await paymentsPerSecond(payers));
    return [{
      number: "15",
      work: `whole payments, ${PAYERS} payers, sandbox`,
      runtime,
      measured: `${withSpread(rounds, 0)}/s`,
      reference: "–",
      ratio: "–",
      goal: "≥ 150/s",
    }];
  } finally {
    await sandbox.stop();
  }
}

/** Pays once and now and then lets its merchant claim. */
type Payer = () => Promise<void>;

async function newPayer(info: SandboxInfo, card: number): Promise<Payer> {
  const api = createClient(info.gateway, info.apiKey);
  const { owner } = info.accounts;
  const { asset } = info;
  const [agent, merchant] = [await newAccount(info), await newAccount(info)];
  const deviceHash = card.toString(16).padStart(64, "0");
  const write = async (signer: typeof owner, operation: Record<string, unknown>) => {
    const answer = await api.write(signer, operation);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  };
  await write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  await write(owner, { kind: "registerAgent", deviceHash, agent: agent.address, asset, maxAmount: "0" });
  await write(owner, { kind: "fundEscrow", deviceHash, asset, amount: "1000000" });
  let unclaimed = 0;
  return async () => {
    await write(agent, { kind: "authorize", deviceHash, merchant: merchant.address, asset, amount: "1" });
    if (++unclaimed < PAYMENTS_PER_CLAIM) return;
    await write(merchant, { kind: "claim", asset });
    unclaimed = 0;
  };
}

async function paymentsPerSecond(payers: Payer[]): Promise<number> {
  const startedAtMs = performance.now();
  const elapsedMs = () => performance.now() - startedAtMs;
  let payments = 0;
  await Promise.all(payers.map(async (pay) => {
    while (elapsedMs() < ROUND_MS) {
      await pay();
      payments++;
    }
  }));
  return payments / elapsedMs() * 1000;
}

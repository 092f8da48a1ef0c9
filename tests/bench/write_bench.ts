import { Account, Address, Keypair, Operation, rpc, TransactionBuilder, xdr } from "@stellar/stellar-sdk";
import { createClient } from "../e2e/client.ts";
import { type SandboxInfo, startSandbox } from "../e2e/sandbox_process.ts";
import { type Figure, median, withSpread } from "./figures.ts";
import { runtimeCommand, type RuntimeName } from "./processes.ts";

const ROUNDS = 5;
const WRITES = 20;

/** #6: prepare, sign, submit and confirm through the gateway, against the same done straight with the Stellar SDK. */
export async function writeFigures(root: string, runtime: RuntimeName): Promise<Figure[]> {
  const sandbox = await startSandbox([...runtimeCommand(runtime), `${root}/main.ts`]);
  try {
    const { info } = sandbox;
    let card = 0;
    const nextCard = () => (++card).toString(16).padStart(64, "0");
    const ours = () => timed(() => throughGateway(info, nextCard()));
    const straight = () => timed(() => throughSdk(info, nextCard()));
    await ours();
    await straight();
    const rounds = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push({ sdk: await straight(), ours: await ours() });
    return [{
      number: "6",
      work: "prepare → sign → submit → confirmed",
      runtime,
      measured: `${median(rounds.map((r) => r.ours)).toFixed(1)} ms`,
      reference: `Stellar SDK ${median(rounds.map((r) => r.sdk)).toFixed(1)} ms`,
      ratio: withSpread(rounds.map((r) => r.ours / r.sdk), 2),
      goal: "≤ 1.15",
    }];
  } finally {
    await sandbox.stop();
  }
}

/** Milliseconds of one write, the mean of several one after the other. */
async function timed(write: () => Promise<void>): Promise<number> {
  const started = performance.now();
  for (let n = 0; n < WRITES; n++) await write();
  return (performance.now() - started) / WRITES;
}

async function throughGateway(info: SandboxInfo, deviceHash: string): Promise<void> {
  const { owner, agent } = info.accounts;
  const api = createClient(info.gateway, info.apiKey);
  const answer = await api.write(owner, { kind: "registerDevice", deviceHash, agent: agent.address });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

async function throughSdk(info: SandboxInfo, deviceHash: string): Promise<void> {
  const { owner, agent } = info.accounts;
  const server = new rpc.Server(info.rpc, { allowHttp: true });
  const account: Account = await server.getAccount(owner.address);
  const hash = Uint8Array.from(deviceHash.match(/../g)!, (pair) => parseInt(pair, 16));
  const transaction = new TransactionBuilder(account, { fee: "100", networkPassphrase: info.networkPassphrase })
    .addOperation(Operation.invokeContractFunction({
      contract: info.contracts.deviceRegistry,
      function: "register",
      args: [new Address(owner.address).toScVal(), xdr.ScVal.scvBytes(hash), new Address(agent.address).toScVal()],
    }))
    .setTimeout(300)
    .build();
  const prepared = await server.prepareTransaction(transaction);
  prepared.sign(Keypair.fromSecret(owner.secret));
  const sent = await server.sendTransaction(prepared);
  const done = await server.pollTransaction(sent.hash, { attempts: 100, sleepStrategy: () => 10 });
  if (done.status !== "SUCCESS") throw new Error(done.status);
}

import { createHash } from "node:crypto";
import { Keypair } from "@stellar/stellar-sdk";
import { readConfig } from "../../cli/read_config.ts";
import type { ContractIds } from "../../lib/escrow/contracts/errors.ts";
import { contractCall } from "../../lib/escrow/operations/operations.ts";
import { createGateway, type Gateway } from "../../lib/gateway/gateway.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import type { SandboxNetwork } from "../../lib/sandbox/network.ts";
import { createRpcServer } from "../../lib/sandbox/rpc/server.ts";
import type { Scope, Store } from "../../lib/store/store.ts";
import { readyNetwork } from "../sandbox/ready_network.ts";
import { call, prepare, signed, submit } from "../sandbox/sandbox_network.ts";
import { beginLife, type Life } from "./mortal_part.ts";
import type { NodeFaults } from "./node_faults.ts";
import type { SharedStore } from "./shared_stores.ts";
import { createVirtualTime, type VirtualTime } from "./virtual_time.ts";
import { wrappedStore } from "./wrapped_store.ts";

type Operation = Parameters<typeof contractCall>[2];

/** What outlives the gateways: the network with its cards, time, and a way to the store they share. */
export interface IntentsStage {
  time: VirtualTime;
  network: SandboxNetwork;
  contracts: ContractIds;
  /** Contract id of the asset. */
  asset: string;
  /** Cards, each with an owner and an agent of its own. */
  cards: Card[];
  /** It may write and have webhooks. */
  apiKey: string;
  store: Store;
  newKey(scopes: Scope[]): Promise<string>;
  /** A gateway that dies after so many steps, on the shared store and a node with these faults. */
  live(
    steps?: number,
    faults?: NodeFaults,
    change?: (store: Store) => Store,
  ): Promise<{ gateway: Gateway; life: Life }>;
  close(): Promise<void>;
}

export interface Card {
  deviceHash: string;
  owner: Keypair;
  agent: Keypair;
}

const START_MS = 1_800_000_000_000;
/** As on the public network. */
const LEDGER_MS = 5_000;

export async function setIntentsStage(shared: SharedStore, cardCount: number): Promise<IntentsStage> {
  const time = createVirtualTime(START_MS);
  const { now, schedule } = time;
  const { network, sandbox } = await readyNetwork({ ledgerMs: LEDGER_MS, now, schedule });
  const server = createRpcServer({ network, version: "test", now });
  const cards: Card[] = [];
  for (let n = 0; n < cardCount; n++) cards.push(await fundedCard(network, sandbox, n));
  const store = await shared.open(time);
  const newKey = (scopes: Scope[]) => mintInto(store, scopes, now());
  const config = readConfig({}, {
    store: "memory:",
    rpcUrls: "http://node.test",
    networkPassphrase: network.passphrase,
    ...sandbox.contracts,
  });

  return {
    time,
    network,
    contracts: sandbox.contracts,
    asset: sandbox.asset,
    cards,
    apiKey: await newKey(["write", "webhooks"]),
    store,
    newKey,
    live: async function live(
      steps = Infinity,
      faults = (_, ask) => ask(),
      change = (own) => own,
    ): Promise<{ gateway: Gateway; life: Life }> {
      const life = beginLife(steps);
      const opened = await shared.open(time);
      life.over.then(() => opened.close());
      const own = wrappedStore(opened, life.step);
      const starting = createGateway({
        config,
        store: change(own),
        keys: keySourceFromStore(own),
        clock: { ...time, wait: (ms, signal) => life.step(() => time.wait(ms, signal)) },
        fetch: (url, init) => life.step(() => faults(init, () => server.fetch(new Request(url, init)))),
        targets: { allowLoopbackHttp: true },
        log: createLog({ level: "error", format: "json", now, write: (line) => console.error(line) }),
      });
      const gateway = await Promise.race([starting, life.over.then(() => undefined)]);
      return gateway === undefined ? await live(steps * 2, faults, change) : { gateway, life };
    },
    async close() {
      await network.stop();
      await store.close();
      await shared.remove();
    },
  };
}

/** A card that is registered, with a policy without a cap, and more in its escrow than a run spends. */
async function fundedCard(
  network: SandboxNetwork,
  { contracts, asset }: { contracts: ContractIds; asset: string },
  n: number,
): Promise<Card> {
  const [owner, agent] = [Keypair.random(), Keypair.random()];
  for (const pair of [owner, agent]) {
    const funded = network.fund(pair.publicKey());
    network.closeLedger();
    await funded;
  }
  const deviceHash = createHash("sha256").update(`card ${n}`).digest("hex");
  const steps: Operation[] = [
    { kind: "registerDevice", deviceHash, agent: agent.publicKey() },
    { kind: "registerAgent", deviceHash, agent: agent.publicKey(), asset, maxAmount: "0", expiresAt: null },
    { kind: "fundEscrow", deviceHash, asset, amount: "10000000000" },
  ];
  for (const step of steps) {
    const { contract, function: name, args } = contractCall(contracts, owner.publicKey(), step);
    submit(network, signed(prepare(network, owner, call(contract, name, ...args)), owner));
    network.closeLedger();
  }
  return { deviceHash, owner, agent };
}

async function mintInto(store: Store, scopes: Scope[], now: number): Promise<string> {
  const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));
  const { key, record } = mintKey({ name: "intents", scopes, rate: 1_000_000, now, random });
  await store.keys.insert(record);
  return key;
}

import { createLazyGateway, type LazyGateway } from "../../cli/lazy_gateway.ts";
import { readConfig } from "../../cli/read_config.ts";
import { createGateway, type Gateway } from "../../lib/gateway/gateway.ts";
import { keySourceFromStore } from "../../lib/keys/key_source.ts";
import { createLog } from "../../lib/log.ts";
import { checkedStore, type StoreDriver } from "../../lib/store/checked_store.ts";
import type { Store } from "../../lib/store/store.ts";
import { openMemoryDriver } from "../../lib/store/sqlite/open.ts";
import type { Climate } from "./climate.ts";
import { Chain, CONTRACTS, PASSPHRASE } from "./chain.ts";
import { Machine } from "./machine.ts";
import { SimulatedNode } from "./node.ts";
import { Receivers } from "./receivers.ts";
import { START_MS, type World } from "./world.ts";

export const FIRST_LEDGER = 1_000;
/** Of a network that nodes hold from its beginning: of what they do not find they say for certain that it is not there. */
const FIRST_OF_ALL = 2;
/** 32 bytes in base64. */
const SECRETS_KEY = "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0MTI=";

/** A gateway that runs on a machine, or is starting there. */
export interface Running {
  machine: Machine;
  /** Undefined while it starts. */
  gateway?: Gateway;
  /** Where crons take turns. */
  isolate?: LazyGateway;
}

/** The clock of the store: of the server that all share, or of the machine that has the store for itself. */
export class StoreTime {
  aheadMs = 0;
  /** Whether it was ever moved. */
  wasMoved = false;
  /** Undefined: the store is on a server. */
  machine: Machine | undefined;

  constructor(readonly world: World) {}

  now(): number {
    return this.machine?.wallMs() ?? Math.floor(START_MS + this.world.nowMs + this.aheadMs);
  }

  setClock(byMs: number): void {
    this.world.note(`the store's clock ${byMs}`);
    this.world.clockSetAtMs = this.world.nowMs;
    this.aheadMs += byMs;
    this.wasMoved = true;
  }
}

/** What a gateway on this machine is answered by a node. */
export async function askNode(
  { world, chain, nodes, told, misnamed, faults }: Pick<
    Site,
    "world" | "chain" | "nodes" | "told" | "misnamed" | "faults"
  >,
  machine: Machine,
  url: string,
  { body, signal }: RequestInit,
): Promise<Response> {
  const node = nodes.find((node) => node.url === url)!;
  const aborted = new Promise<never>((_, reject) => {
    signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")), { once: true });
  });
  const hear = (ledger: number, shown: number) => {
    if (ledger !== shown) misnamed.add(`${machine.name} ${shown}`);
    // A lie speaks for nothing.
    if (ledger > chain.ledgers.latest) return;
    const known = told.get(machine.name) ?? [];
    known.push({ ledger, atMs: world.nowMs });
    told.set(machine.name, known);
  };
  const asked = machine.call(`${node.name} ${JSON.parse(String(body)).method}`, () => {
    try {
      return node.answer(String(body), machine, hear);
    } catch (error) {
      // The gateway takes it for a node that fails.
      faults.push(`${node.name} has no answer: ${error}`);
      throw error;
    }
  });
  const answer = await Promise.race([asked, aborted]);
  return answer ?? await aborted;
}

/** Everything that is there: one store, several machines with a gateway each, nodes of one network, receivers. */
export class Site {
  /** The store as seen from outside, where no call fails. */
  readonly store: Store;
  readonly chain: Chain;
  readonly nodes: SimulatedNode[];
  readonly receivers: Receivers;
  readonly running: Running[] = [];
  /** Log lines of level warn and above, for whoever looks into a failure. */
  readonly logged: string[] = [];
  /** Answers that no client should ever get, and questions that no node can answer. */
  readonly faults: string[] = [];
  /** Where the log ended when each subscription was made, by id: what was known before is not owed to it. */
  readonly owedAfter = new Map<string, number>();
  /** Which ledgers nodes have told each machine of, by its name. */
  readonly told = new Map<string, { ledger: number; atMs: number }[]>();
  /** Of which ledgers nodes have shown each machine something as if it were of another one: `name ledger`. */
  readonly misnamed = new Set<string>();
  /** How far the network was read when it was reset: what came after is gone with it. */
  readBeforeReset = 0;
  /** Told of each call to the store that had its effect. */
  onStoreCall: (machine: Machine, method: string, args: unknown[], answer: unknown) => void = () => {};
  /** Told of each machine that died. */
  onDeath: () => void = () => {};
  #births = 0;
  readonly #turning = new Set<Machine>();
  /** Events as they were heard first, by id. */
  readonly #saidFirst = new Map<string, string>();

  private constructor(
    readonly world: World,
    readonly climate: Climate,
    readonly driver: StoreDriver,
    readonly time: StoreTime,
  ) {
    this.store = checkedStore(driver, () => world.nowMs);
    this.chain = new Chain(world, climate.isKeyless ? FIRST_OF_ALL : FIRST_LEDGER, climate);
    this.nodes = Array.from(
      { length: climate.nodes },
      (_, n) => new SimulatedNode(`node${n}`, world, this.chain, climate),
    );
    this.receivers = new Receivers(world);
    this.receivers.untakeable = climate.untakeable;
    this.receivers.onEvent = (event) => this.hearEvent(event);
  }

  static async open(world: World, climate: Climate): Promise<Site> {
    const time = new StoreTime(world);
    const driver = await openMemoryDriver({ isShared: climate.isShared, now: () => time.now() });
    return new Site(world, climate, driver, time);
  }

  /** Starts a gateway on a machine of its own. */
  start({ pace = 1, aheadMs = 0 }: { pace?: number; aheadMs?: number } = {}): Running {
    const { world } = this;
    const onDeath = (dead: Machine) => {
      const at = this.running.findIndex(({ machine }) => machine === dead);
      if (at >= 0) this.running.splice(at, 1);
      this.onDeath();
    };
    const machine = new Machine(`g${++this.#births}`, world, { pace, aheadMs, onDeath });
    const running: Running = { machine };
    this.running.push(running);
    if (!this.climate.isShared) this.time.machine = machine;
    world.note(`${machine.name} starts`);
    world.as(machine, () => {
      void this.#startOn(running).catch((error) => {
        this.logged.push(`${machine.name} could not start: ${error}`);
        machine.die("as it could not start");
      });
    });
    return running;
  }

  async #startOn(running: Running): Promise<void> {
    const { machine } = running;
    const store = machine.storeOn(this.driver, (method, args, answer) => {
      if (method === "subscriptions.insert") this.#noteOwed((args[0] as { id: string }).id);
      this.onStoreCall(machine, method, args, answer);
    });
    const config = readConfig({}, {
      store: "memory:",
      pollMs: String(this.climate.pollMs),
      rpcUrls: this.nodes.map(({ url }) => url).join(),
      networkPassphrase: PASSPHRASE,
      reconcileHours: "0",
      retentionDays: String(this.climate.retentionDays),
      ...(this.climate.isSealed ? { secretsKey: SECRETS_KEY } : {}),
      ...CONTRACTS,
    });
    const gateway = await createGateway({
      config,
      store,
      keys: keySourceFromStore(store),
      clock: machine.clock,
      fetch: (url, init) => askNode(this, machine, url, init),
      log: createLog({
        level: "warn",
        format: "json",
        now: machine.clock.now,
        write: (line) => this.logged.push(`${this.world.nowMs.toFixed(0)} ${machine.name} ${line.trim()}`),
      }),
      targets: {
        resolve: () => Promise.resolve(["93.184.216.34"]),
        poster: { post: (request) => this.receivers.post(machine, request), close() {} },
      },
    });
    await gateway.networkChecked;
    if (this.climate.isTurned) this.#runInTurns(running, gateway);
    else gateway.start();
    running.gateway ??= gateway;
    this.world.note(`${machine.name} serves`);
  }

  /** As `cli/deploy.ts` does it. */
  #runInTurns(running: Running, gateway: Gateway): void {
    const isolate = createLazyGateway({
      open: () => Promise.resolve(gateway),
      log: createLog({ level: "error", format: "json", now: Date.now, write: (line) => this.logged.push(line) }),
      monotonicMs: running.machine.clock.monotonicMs,
    });
    running.isolate = isolate;
    running.gateway = { ...gateway, fetch: isolate.fetch };
  }

  /** An event says the same wherever it is heard: in the history, on the live stream, in a webhook. */
  hearEvent(event: { id: string }): void {
    const said = JSON.stringify(event);
    const first = this.#saidFirst.get(event.id) ?? said;
    this.#saidFirst.set(event.id, first);
    if (said !== first) this.faults.push(`an event was ${first} first, then ${said}`);
  }

  get isTurning(): boolean {
    return this.running.some(({ machine }) => this.#turning.has(machine));
  }

  /** The minute's cron, in one of the isolates. */
  async turn(): Promise<void> {
    const { machine, isolate } = this.#anyIsolate() ?? {};
    if (machine === undefined) return;
    this.#turning.add(machine);
    this.world.note(`${machine.name} takes its turn`);
    await Promise.race([this.world.as(machine, () => isolate!.turn()), machine.died]);
    this.world.note(`${machine.name} has had its turn`);
    this.#turning.delete(machine);
  }

  /** The cron that forgets. */
  tidy(): void {
    const { machine, isolate } = this.#anyIsolate() ?? {};
    if (machine !== undefined) void this.world.as(machine, () => isolate!.tidy());
  }

  #anyIsolate(): Running | undefined {
    const isolates = this.running.filter(({ isolate }) => isolate !== undefined);
    return isolates.length === 0 ? undefined : this.world.random.pick(isolates);
  }

  #noteOwed(subscriptionId: string): void {
    // A driver in memory answers at once.
    const { last } = this.driver.events.bounds() as { last: number };
    this.owedAfter.set(subscriptionId, last);
  }

  /** Asks a gateway to stop, as by SIGTERM: its process ends when it has. */
  async stop({ machine, gateway }: Running): Promise<void> {
    if (gateway === undefined) return machine.die("before it served");
    if (this.climate.isTurned) return machine.die("as isolates do");
    this.world.note(`${machine.name} stops`);
    await Promise.race([this.world.as(machine, () => gateway.stop()), machine.died]);
    machine.die("as it was stopped");
  }

  /** Ends everything, so that nothing of it runs in the next world. */
  async close(): Promise<void> {
    this.onDeath = () => {};
    for (const { machine } of [...this.running]) machine.die("at the end");
    await this.driver.close();
  }
}

import { EVENT_TYPES } from "../../lib/escrow/events.ts";
import { Client, HistoryReader } from "./client.ts";
import { brokenInvariants, watchTerms } from "./invariants.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { LEDGER_MS } from "./chain.ts";
import { NO_TROUBLES } from "./machine.ts";
import { type Ailment, WELL } from "./node.ts";
import type { Temper } from "./receivers.ts";
import { Site } from "./site.ts";
import { World } from "./world.ts";

/** What became of one seed. */
export interface RunResult {
  seed: number;
  /** What did not hold; empty: all did. */
  broken: string[];
  trace: string;
  steps: number;
  simulatedMs: number;
  events: number;
  deliveries: number;
  logged: string[];
}

export interface RunOptions {
  /** Told of everything that happens. */
  said?: (line: string) => void;
  /** Only so many of the seed's misfortunes happen: to shorten what fails. */
  misfortunes?: number;
}

/** Gateways on one store at most. */
const MOST_GATEWAYS = 3;
/** After the misfortunes: leases of the dead, second looks and gap jobs have their time. */
const CALM_MS = 240_000;
/** A network that was reset to a higher ledger is told only by the check that comes every ten minutes. */
const CALM_AFTER_RESET_MS = 900_000;
const LAST_MS = 40_000;
const TEMPERS: Temper[] = ["well", "slow", "broken", "refusing", "hanging", "moody", "later"];
const HOUR_MS = 3_600_000;
const STEPS_OF_CLOCKS_MS = [2_000, -2_000, 60_000, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, 960 * HOUR_MS];

/** Lives through one world: everything in it follows from the seed. */
export async function run(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const world = new World(seed, options.said);
  const story = await Story.begin(world, options.misfortunes ?? Infinity);
  const broken = await story.live();
  const { site } = story;
  const { length: events } = await site.driver.events.read({ filter: {}, order: "desc", limit: 1_000 });
  const result = {
    seed,
    broken,
    trace: world.traceHash(),
    steps: world.steps,
    simulatedMs: world.nowMs,
    events,
    deliveries: site.receivers.heard.length,
    logged: site.logged,
  };
  await site.close();
  return result;
}

class Story {
  readonly broken: string[] = [];
  readonly readers: HistoryReader[];
  readonly hooks: { id: string; client: Client; url: string }[] = [];
  #misfortunesLeft: number;
  #wasReset = false;
  #isCalm = false;
  #urls = 0;

  private constructor(readonly site: Site, readonly clients: Client[], misfortunes: number) {
    this.readers = clients.slice(0, 2).map((client, n) => new HistoryReader(client, n === 0 ? 7 : 100));
    this.#misfortunesLeft = misfortunes;
    watchTerms(site, (what) => this.broken.push(what));
  }

  static async begin(world: World, misfortunes: number): Promise<Story> {
    const site = await Site.open(world, world.integer(1, 3));
    const clients = [
      await Client.enrol(site, "shop", 6_000),
      await Client.enrol(site, "till", 6_000),
      await Client.enrol(site, "greedy", 60),
    ];
    return new Story(site, clients, misfortunes);
  }

  get world(): World {
    return this.site.world;
  }

  async live(): Promise<string[]> {
    const { site, world } = this;
    for (let n = world.integer(0, 6); n > 0; n--) site.chain.close(this.#cards());
    for (let n = world.integer(1, MOST_GATEWAYS); n > 0; n--) this.#startOne();
    this.#often(LEDGER_MS, LEDGER_MS, () => site.chain.close(this.#isEnding ? [] : this.#cards()));
    for (const reader of this.readers) this.#often(500, 4_000, () => void reader.read());
    this.#often(2_000, 15_000, () => void this.#useApi());
    this.#often(300, 12_000, () => void this.#suffer());
    await world.runUntil(world.integer(60_000, 300_000), () => this.broken.length > 0);
    await this.#becomeCalm();
    const isBroken = () => this.broken.length > 0;
    await world.runUntil(world.nowMs + (this.#wasReset ? CALM_AFTER_RESET_MS : CALM_MS), isBroken);
    this.#isEnding = true;
    await world.runUntil(world.nowMs + LAST_MS, isBroken);
    if (this.broken.length > 0) return this.broken;
    this.#isOver = true;
    for (const reader of this.readers) await this.#readToTheEnd(reader);
    return [...this.broken, ...await brokenInvariants(site, this.clients, this.readers)];
  }

  /** Nothing happens on the network any more: what did has its time to arrive. */
  #isEnding = false;
  #isOver = false;

  /** Does something again and again, after pauses of between so long and so long. */
  #often(fromMs: number, toMs: number, act: () => void): void {
    const { world } = this;
    const again = () => {
      if (this.#isOver) return;
      act();
      world.after(world.random.between(fromMs, toMs), again);
    };
    world.after(world.random.between(fromMs, toMs), again);
  }

  async #readToTheEnd(reader: HistoryReader): Promise<void> {
    const { world } = this;
    let isDone = false;
    void (async () => {
      while (await reader.read() || reader.isAsking) await world.pass(10);
      isDone = true;
    })();
    await world.runUntil(world.nowMs + 60_000, () => isDone);
  }

  #cards(): string[] {
    const { world } = this;
    const count = world.chance(0.05) ? world.integer(20, 60) : world.random.pick([0, 0, 0, 1, 1, 2, 4]);
    return Array.from({ length: count }, () => world.integer(1, 5).toString(16).padStart(64, "0"));
  }

  #startOne(): void {
    const { world, site } = this;
    const pace = 1 + world.random.between(-0.002, 0.002);
    const aheadMs = world.chance(0.2) ? world.random.pick(STEPS_OF_CLOCKS_MS) : world.integer(-500, 500);
    site.start({ pace, aheadMs });
  }

  // --- what people do ------------------------------------------------------------------------------------------------

  async #useApi(): Promise<void> {
    const { world } = this;
    const client = world.random.pick(this.clients);
    const way = world.integer(0, 11);
    if (way <= 2) await this.#makeHook(client);
    else if (way === 3) await this.#removeHook();
    else if (way === 4) await this.#rotate();
    else if (way === 5) await this.#replay();
    else if (way === 6 && !this.#isCalm) await client.setEnabled(!client.isEnabled);
    else if (way === 7) await this.#onHook((id, owner) => owner.ask("GET", `/v1/webhooks/${id}/deliveries`));
    else if (way === 8) await client.ask("GET", "/v1/status");
    else await this.#beGreedy();
  }

  async #makeHook(client: Client): Promise<void> {
    const { world, site } = this;
    if (this.hooks.length >= 8) return;
    const url = `https://hook${++this.#urls}.example/`;
    site.receivers.setTemper(url, this.#isCalm || world.chance(0.5) ? "well" : world.random.pick(TEMPERS));
    const filter = {
      ...(world.chance(0.3) ? { types: [world.random.pick(EVENT_TYPES.slice(1, 5))] } : {}),
      ...(world.chance(0.3) ? { deviceHash: world.integer(1, 5).toString(16).padStart(64, "0") } : {}),
      ...(world.chance(0.2) ? { ordered: true } : {}),
    };
    const made = await client.ask("POST", "/v1/webhooks", { url, ...filter });
    if (made?.status !== 201) return;
    const { id, secret } = made.body;
    this.hooks.push({ id, client, url });
    site.receivers.secrets.set(id, [secret]);
    site.receivers.owners.set(id, client.keyId);
  }

  async #onHook(act: (id: string, owner: Client) => Promise<unknown>): Promise<void> {
    if (this.hooks.length === 0) return;
    const { id, client } = this.world.random.pick(this.hooks);
    await act(id, client);
  }

  async #removeHook(): Promise<void> {
    await this.#onHook(async (id, owner) => {
      const removed = await owner.ask("DELETE", `/v1/webhooks/${id}`);
      if (removed?.status === 200) this.site.receivers.deletedAtMs.set(id, this.world.nowMs);
    });
  }

  async #replay(): Promise<void> {
    await this.#onHook(async (id, owner) => {
      this.site.receivers.replayed.add(id);
      await owner.ask("POST", `/v1/webhooks/${id}/replay`, { fromLedger: 1_000 });
    });
  }

  async #rotate(): Promise<void> {
    await this.#onHook(async (id, owner) => {
      const rotated = await owner.ask("POST", `/v1/webhooks/${id}/secret`);
      if (rotated?.status === 200) this.site.receivers.secrets.get(id)!.push(rotated.body.secret);
    });
  }

  async #beGreedy(): Promise<void> {
    const greedy = this.clients[2]!;
    await Promise.all(Array.from({ length: this.world.integer(1, 40) }, () => greedy.ask("GET", "/v1/events?limit=1")));
  }

  // --- what goes wrong -----------------------------------------------------------------------------------------------

  async #suffer(): Promise<void> {
    const { world, site } = this;
    if (this.#isCalm || this.#misfortunesLeft-- <= 0) return;
    const on = site.running.length > 0 ? world.random.pick(site.running).machine : undefined;
    const way = world.integer(0, 13);
    if (way <= 1) on?.die("by kill");
    else if (way <= 4) site.running.length < MOST_GATEWAYS ? this.#startOne() : on?.die("by kill");
    else if (way === 5) on?.pause(world.integer(1_000, 60_000));
    else if (way === 6) on?.setClock(world.random.pick(STEPS_OF_CLOCKS_MS));
    else if (way === 7 && on !== undefined) on.troubles = this.#troubles();
    else if (way === 8 && on !== undefined) on.troubles = NO_TROUBLES;
    else if (way <= 10) this.#ail();
    else if (way === 11 && this.hooks.length > 0) {
      site.receivers.setTemper(world.random.pick(this.hooks).url, world.random.pick(TEMPERS));
    } else if (way === 12 && world.chance(0.15)) this.#resetNetwork();
    else if (way === 13) await this.#stopOne();
  }

  #troubles() {
    const { world } = this;
    return {
      crash: world.chance(0.5) ? world.random.pick([0.002, 0.02]) : 0,
      storeFault: world.chance(0.6) ? world.random.pick([0.02, 0.3]) : 0,
      stall: world.chance(0.4) ? world.random.pick([0.005, 0.05]) : 0,
    };
  }

  /** One node at a time does badly, and not for long: with all of them lying nobody could know. */
  #ail(): void {
    const { world, site } = this;
    for (const node of site.nodes) node.ailment = WELL;
    const node = world.random.pick(site.nodes);
    const isAlone = site.nodes.length === 1;
    const often = () => world.chance(0.3) ? world.random.pick([0.05, 0.3]) : 0;
    const ailment: Ailment = {
      ...WELL,
      lag: world.chance(0.2) ? world.integer(1, 20) : 0,
      showsFormer: world.chance(0.1),
      retention: world.chance(0.1) ? world.integer(3, 30) : WELL.retention,
      refuses: often(),
      stalls: often() / 3,
      lies: often(),
      omits: isAlone ? 0 : often(),
      repeats: often(),
    };
    node.ailment = ailment;
    world.note(`${node.name} ails ${JSON.stringify(ailment)}`);
    world.after(world.integer(1_000, 15_000), () => {
      if (node.ailment === ailment) node.ailment = WELL;
    });
  }

  #resetNetwork(): void {
    const { chain, driver } = this.site;
    if (this.#wasReset) return;
    this.#wasReset = true;
    const { first, latest } = chain.ledgers;
    const { scannedLedger = 0 } = driver.events.watcherState() as WatcherState | undefined ?? {};
    this.site.readBeforeReset = scannedLedger;
    chain.reset(this.world.random.pick([1, 500, first + 3, latest + 200]));
  }

  async #stopOne(): Promise<void> {
    const { site, world } = this;
    const serving = site.running.filter(({ gateway }) => gateway !== undefined);
    if (serving.length === 0) return;
    const { machine, gateway } = world.random.pick(serving);
    world.note(`${machine.name} stops`);
    await Promise.race([world.as(machine, () => gateway!.stop()), machine.died]);
    machine.die("as it was stopped");
    if (this.#isCalm && site.running.length === 0) this.#startOne();
  }

  /** Everything becomes well, and stays so. */
  async #becomeCalm(): Promise<void> {
    const { site, world } = this;
    this.#isCalm = true;
    world.note("calm");
    for (const node of site.nodes) node.ailment = WELL;
    for (const { machine } of site.running) {
      machine.troubles = NO_TROUBLES;
      machine.pausedUntilMs = Math.min(machine.pausedUntilMs, world.nowMs);
    }
    site.receivers.becomeWell();
    for (const client of this.clients) if (!client.isEnabled) await client.setEnabled(true);
    if (site.running.length === 0) this.#startOne();
  }
}

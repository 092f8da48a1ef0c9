import type { WatcherState } from "../../lib/store/store.ts";
import { type AMBUSHES, type Climate, LINGERING_MS, type Misfortune, pickWeighted } from "./climate.ts";
import { type Machine, NO_TROUBLES } from "./machine.ts";
import { LIES } from "./lies.ts";
import { type Ailment, HELD_LEDGERS, WELL } from "./node.ts";
import type { People } from "./people.ts";
import type { RunOptions } from "./run.ts";
import type { Running, Site } from "./site.ts";
import { NOBODY } from "./world.ts";

/** Longer than any lease lasts. */
const STANDSTILL_MS = 20_000;
/**
 * The gateway promises to see through one wrong answer: the next one comes when it has forgotten the last, of which it
 * remembers a minute.
 */
const LIES_APART_MS = 70_000;
const HASH_LIES_APART_MS = 400_000;
/** A burst is more than a worker reads ahead for one webhook. */
const BURST = { from: 70, to: 140 };
const MOST_BURSTS = 3;
const HOUR_MS = 3_600_000;

/** What goes wrong in a world, one thing at a time. */
export class Misfortunes {
  /** The network began anew. */
  wasReset = false;
  /** Ledgers were forgotten by all nodes for a while. */
  wasPruned = false;
  /** How many events the next ledger has beside its own. */
  burst = 0;
  #isCalm = false;
  #bursts = 0;
  #nextLieMs = 0;
  #nextHashLieMs = 0;

  #left: number;
  readonly #without: readonly string[];

  constructor(readonly site: Site, readonly people: People, readonly climate: Climate, options: RunOptions) {
    const { world } = site;
    this.#left = options.misfortunes ?? Infinity;
    this.#without = options.without ?? [];
    site.onDeath = () => {
      if (this.#isCalm) return;
      world.after(world.fate.random.between(200, climate.restartMs), () => this.startOne(), NOBODY);
    };
  }

  /** Starts a gateway, if there is room for one. */
  startOne(): void {
    const { site, climate } = this;
    const { world } = site;
    if (site.running.length >= climate.gateways) return;
    const pace = 1 + world.fate.random.between(-0.002, 0.002);
    const aheadMs = world.fate.chance(0.2)
      ? world.fate.random.pick(climate.clockStepsMs)
      : world.fate.integer(-500, 500);
    site.start({ pace, aheadMs });
  }

  /** Something goes wrong. */
  strike(): void {
    if (this.#isCalm || this.#left-- <= 0) return;
    const what = pickWeighted(this.site.world.fate, this.climate.misfortunes);
    if (what !== undefined && !this.#without.includes(what)) this.#strikes[what]();
  }

  readonly #strikes: Record<Misfortune, () => void> = {
    kill: () => this.#one()?.machine.die("by kill"),
    killAll: () => {
      for (const { machine } of [...this.site.running]) machine.die("by kill");
    },
    stop: () => this.#stop(this.#one()),
    pause: () => this.#one()?.machine.pause(this.site.world.fate.integer(1_000, 60_000)),
    ambush: () => this.#layAmbush(),
    clock: () => this.#moveClock(),
    storeClock: () => this.#moveStoreClock(),
    troubles: () => this.#trouble(),
    ail: () => this.#ail(),
    prune: () => this.#prune(),
    lie: () => this.#lie(),
    temper: () => this.#changeTemper(),
    burst: () => {
      if (++this.#bursts <= MOST_BURSTS) this.burst = this.site.world.fate.integer(BURST.from, BURST.to);
    },
    reset: () => this.#resetNetwork(),
  };

  #one(): Running | undefined {
    const { running, world } = this.site;
    return running.length === 0 ? undefined : world.fate.random.pick(running);
  }

  #stop(running: Running | undefined): void {
    if (running !== undefined) void this.site.stop(running);
  }

  /** In the middle of a call of its: after the question was sent and before the answer, or before anything was done. */
  #layAmbush(): void {
    const { world, running } = this.site;
    const { ambushes, ambushed } = this.climate;
    const machine = this.#one()?.machine;
    if (machine === undefined) return;
    const fate: typeof AMBUSHES[number] = world.fate.random.pick(ambushes);
    const waitsMs = world.fate.chance(0.5) ? 0 : world.fate.integer(1, 4_000);
    const spring = (on: Machine) => {
      if (fate === "kill") on.die("in an ambush");
      else if (fate === "pause") on.pause(STANDSTILL_MS + world.fate.integer(0, STANDSTILL_MS));
      else if (fate === "stop") this.#stop(running.find((one) => one.machine === on));
    };
    machine.ambush = {
      at: world.fate.random.pick(ambushed),
      isAfter: world.fate.chance(0.5),
      isFault: fate === "fault",
      spring: (on) => waitsMs === 0 ? spring(on) : void world.after(waitsMs, () => on.isDead || spring(on), NOBODY),
    };
  }

  /** A clock that was set wrong is mostly set right again. */
  #moveClock(): void {
    const { world } = this.site;
    const machine = this.#one()?.machine;
    if (machine === undefined) return;
    const byMs = world.fate.random.pick(this.climate.clockStepsMs);
    machine.setClock(byMs);
    if (world.fate.chance(0.3)) return;
    world.after(world.fate.integer(1_000, 40_000), () => machine.setClock(-byMs), NOBODY);
  }

  #moveStoreClock(): void {
    const { world, time } = this.site;
    const byMs = world.fate.random.pick([2_000, -2_000, HOUR_MS, -HOUR_MS]);
    time.setClock(byMs);
    if (world.fate.chance(0.5)) world.after(world.fate.integer(1_000, 40_000), () => time.setClock(-byMs), NOBODY);
  }

  #trouble(): void {
    const { world } = this.site;
    const machine = this.#one()?.machine;
    if (machine === undefined) return;
    const { crash, storeFault, stall } = this.climate.troubles;
    const troubles = { crash, storeFault, stall };
    machine.troubles = troubles;
    world.note(`${machine.name} has troubles`);
    world.after(world.fate.integer(2_000, 40_000), () => {
      if (machine.troubles === troubles) machine.troubles = NO_TROUBLES;
    }, NOBODY);
  }

  /** One node at a time does badly, and not for long: with all of them doing so nobody could know. */
  #ail(): void {
    const { nodes, world } = this.site;
    for (const node of nodes) node.suffer(WELL);
    const node = world.fate.random.pick(nodes);
    const has = (what: keyof Ailment) => this.climate.ailments.includes(what) && world.fate.chance(0.7);
    const often = (what: keyof Ailment) => has(what) ? world.fate.random.pick([0.05, 0.3]) : 0;
    const ailment: Ailment = {
      lag: has("lag") ? world.fate.integer(1, 20) : 0,
      showsFormer: has("showsFormer"),
      refuses: often("refuses"),
      stalls: often("stalls") / 3,
      loses: often("loses"),
      withholds: has("withholds") ? world.fate.random.pick([0.2, 0.9]) : 0,
      repeats: often("repeats"),
    };
    node.suffer(ailment);
    world.note(`${node.name} ails ${JSON.stringify(ailment)}`);
    world.after(world.fate.integer(2_000, 30_000), () => {
      if (node.ailment === ailment) node.suffer(WELL);
    }, NOBODY);
  }

  /** All nodes hold only their newest ledgers, while all gateways are down for longer than that. */
  #prune(): void {
    const { nodes, running, world } = this.site;
    if (this.wasPruned) return;
    this.wasPruned = true;
    // Who reads once a minute needs nodes that hold more.
    const retention = world.fate.integer(2, 6) * (this.climate.isTurned ? 12 : 1);
    for (const node of nodes) node.retention = retention;
    world.note(`nodes hold ${retention} ledgers`);
    for (const { machine } of [...running]) machine.die("in a blackout");
    if (world.fate.chance(0.5)) world.after(world.fate.integer(60_000, 260_000), () => this.#holdAll(), NOBODY);
  }

  #holdAll(): void {
    for (const node of this.site.nodes) node.retention = HELD_LEDGERS;
  }

  #lie(): void {
    const { nodes, world } = this.site;
    if (world.nowMs < this.#nextLieMs) return;
    const lies = world.nowMs < this.#nextHashLieMs ? LIES.filter((lie) => lie !== "hash") : LIES;
    const lie = world.fate.random.pick(lies);
    for (const node of nodes) node.lieOnce(undefined);
    world.fate.random.pick(nodes).lieOnce(lie, () => {
      this.#nextLieMs = world.nowMs + LIES_APART_MS;
      if (lie === "hash") this.#nextHashLieMs = world.nowMs + HASH_LIES_APART_MS;
    });
    // The hash of a ledger is looked at when a gateway begins.
    if (lie === "hash") this.#one()?.machine.die("by kill");
  }

  #changeTemper(): void {
    const { world, receivers } = this.site;
    if (this.people.hooks.length === 0) return;
    receivers.setTemper(world.fate.random.pick(this.people.hooks).url, world.fate.random.pick(this.climate.tempers));
  }

  #resetNetwork(): void {
    const { chain, driver, world } = this.site;
    if (this.wasReset) return;
    this.wasReset = true;
    const { first, latest } = chain.ledgers;
    // Not within the ledgers of the last minutes: none of those that could be compared would be left.
    const state = driver.events.watcherState() as WatcherState | undefined;
    this.site.readBeforeReset = state?.scannedLedger ?? 0;
    // A ledger of the former network is needed to tell it by.
    const lingers = this.climate.lingers && (state?.checkpoints.length ?? 0) > 0;
    if (!lingers) return chain.reset(world.fate.random.pick([1, first - 500, first - 60, latest + 200]));
    // Nor does the new network come to where the former one is while that is shown.
    chain.reset(world.fate.random.pick([1, first - 500, latest + 200]));
    const lastsMs = world.fate.integer(LINGERING_MS - 60_000, LINGERING_MS);
    world.after(world.fate.integer(5_000, 30_000), () => {
      if (this.#isCalm) return;
      for (const node of this.site.nodes) node.showFormer(lastsMs);
    }, NOBODY);
  }

  /** From now on nothing goes wrong any more. */
  becomeCalm(): void {
    const { site } = this;
    this.#isCalm = true;
    this.burst = 0;
    for (const node of site.nodes) node.becomeWell();
    for (const { machine } of site.running) {
      machine.troubles = NO_TROUBLES;
      machine.ambush = undefined;
      machine.pausedUntilMs = Math.min(machine.pausedUntilMs, site.world.nowMs);
    }
    site.receivers.becomeWell();
    site.chain.accounts.becomeWell();
    site.onDeath = () => {
      if (site.running.length === 0) this.startOne();
    };
  }
}

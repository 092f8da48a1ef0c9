import { scValToNative, xdr } from "@stellar/stellar-sdk/base";
import { balanceKey } from "../../lib/escrow/reads/storage_keys.ts";
import { createEntryReader } from "../../lib/stellar/entries.ts";
import { askNewest } from "../../lib/stellar/fresh_read.ts";
import { createHead } from "../../lib/stellar/head.ts";
import { createRpcClient } from "../../lib/stellar/rpc/client.ts";
import type { ShownCard } from "./card_reader.ts";
import { Chain, CONTRACTS, LEDGER_MS, PASSPHRASE } from "./chain.ts";
import { checkBackSteps } from "./client_invariants.ts";
import { type Climate, drawClimate, type Misfortune } from "./climate.ts";
import { Machine } from "./machine.ts";
import { Misfortunes } from "./misfortunes.ts";
import { SimulatedNode } from "./node.ts";
import type { People } from "./people.ts";
import type { RunOptions, RunResult } from "./run.ts";
import { askNode, FIRST_LEDGER, type Running, type Site, StoreTime } from "./site.ts";
import { NOBODY, World } from "./world.ts";

// Worlds of nothing but what a read goes through: the head, the client of nodes, the reading of entries;
// a hundred of them are lived through while one whole gateway's is.

const CARDS = ["1", "2", "3"].map((digit) => balanceKey(CONTRACTS.paymentEscrow, digit.repeat(64)));
const LONGEST_RUN_MS = 300_000;
const ISOLATE_POLLS_MS = 60_000;
/** How often that happens. */
const HAPPENS: Partial<Record<Misfortune, number>> = {
  kill: 0.4,
  killAll: 0.4,
  stop: 0.15,
  pause: 0.15,
  clock: 0.7,
  troubles: 0.15,
  ail: 1,
  lie: 0.7,
};

interface CardReaders extends Running {
  read(key: string): Promise<number>;
  /** Tells somebody that a transaction was applied in this ledger. */
  tellApplied(ledger: number): void;
}

/** Machines with what reads cards, one of which reads the network; nodes; and a store that keeps how far it was read. */
class CardSite {
  readonly running: CardReaders[] = [];
  readonly told: Site["told"] = new Map();
  readonly misnamed: Site["misnamed"] = new Set();
  readonly faults: string[] = [];
  readonly shown: ShownCard[] = [];
  readonly applied: { ledger: number; machine: string; answeredMs: number }[] = [];
  readonly chain: Chain;
  readonly nodes: SimulatedNode[];
  readonly time: StoreTime;
  readonly receivers = { becomeWell() {} };
  onDeath: () => void = () => {};
  isOver = false;
  #committed: { sequence: number; closeTime: number } | undefined;
  #births = 0;

  constructor(readonly world: World, readonly climate: Climate) {
    this.time = new StoreTime(world);
    this.chain = new Chain(world, FIRST_LEDGER, climate);
    this.nodes = Array.from(
      { length: climate.nodes },
      (_, n) => new SimulatedNode(`node${n}`, world, this.chain, climate),
    );
  }

  start({ pace = 1, aheadMs = 0 }: { pace?: number; aheadMs?: number } = {}): void {
    const { world } = this;
    const onDeath = (dead: Machine) => {
      this.running.splice(this.running.findIndex(({ machine }) => machine === dead), 1);
      this.onDeath();
    };
    const machine = new Machine(`g${++this.#births}`, world, { pace, aheadMs, onDeath });
    world.note(`${machine.name} starts`);
    this.running.push(world.as(machine, () => this.#startOn(machine)));
  }

  stop({ machine }: Running): void {
    machine.die("as it was stopped");
  }

  #startOn(machine: Machine): CardReaders {
    const { clock } = machine;
    const head = createHead({ clock, stored: this.#committed, ask: (node) => askNewest(rpc, { node }) });
    const rpc = createRpcClient({
      urls: this.nodes.map(({ url }) => url),
      fetch: (url, init) => askNode(this, machine, url, init),
      clock,
      head,
      networkPassphrase: PASSPHRASE,
    });
    const entries = createEntryReader({ rpc, head, clock, nodes: this.nodes.length });
    const poll = async () => {
      while (!this.isOver) {
        if (this.running[0]?.machine === machine) {
          await rpc.getHealth().catch(() => undefined);
          if (head.sequence > 0) this.#committed = { sequence: head.sequence, closeTime: head.closeTime };
        } else if (this.#committed !== undefined) {
          head.observe(this.#committed);
        }
        await clock.wait(this.climate.isTurned ? ISOLATE_POLLS_MS : this.climate.pollMs);
      }
    };
    void poll();
    return {
      machine,
      read: async (key) => balanceOf((await entries.read([key])).entries[0]!.xdr),
      tellApplied: head.confirm,
    };
  }

  /** Somebody looks at a card, and some have paid with it just before. */
  async look(): Promise<void> {
    const { world, chain } = this;
    if (this.running.length === 0) return;
    const { machine, read, tellApplied } = world.doings.random.pick(this.running);
    const askedMs = world.nowMs;
    const reading = world.as(machine, () => read(world.doings.random.pick(CARDS)).catch(() => undefined));
    const ledger = await Promise.race([reading, machine.died]);
    world.note(`${machine.name} shows ${ledger}`);
    if (ledger === undefined) return;
    const [answeredMs, { name }] = [world.nowMs, machine];
    this.shown.push({ askedMs, answeredMs, machine: name, ledger, latest: chain.ledgers.latest });
    // Nobody is told of a ledger that no node has spoken of.
    const isHeardOf = this.told.get(name)?.some((one) => one.ledger >= ledger) ?? false;
    if (!isHeardOf || !world.doings.chance(0.1)) return;
    tellApplied(ledger);
    this.applied.push({ ledger, machine: name, answeredMs });
  }
}

function balanceOf(entry: string): number {
  const data = xdr.LedgerEntryData.fromXdr(entry, "base64");
  return data.type === "contractData" ? Number(scValToNative(data.contractData.val)) : NaN;
}

function climateOf(world: World): Climate {
  const { fate } = world;
  const climate = drawClimate(world);
  const misfortunes = Object.entries(HAPPENS).flatMap(([what, chance]) =>
    fate.chance(chance) ? [[what as Misfortune, fate.random.pick([1, 3])] as [Misfortune, number]] : []
  );
  return {
    ...climate,
    // What one has seen confirmed the others do not hear of here.
    isShared: false,
    isTurned: climate.isShared && fate.chance(0.3),
    gateways: climate.isShared ? fate.random.pick([1, 1, 2, 3]) : 1,
    misfortunes,
    misfortuneEveryMs: fate.random.pick([2_000, 6_000, 6_000]),
    ailments: ["lag", ...climate.ailments.filter((what) => what !== "lag" && fate.chance(0.3))],
    lastsMs: fate.integer(60_000, LONGEST_RUN_MS),
    lookers: 1,
    payers: 0,
    strangers: 0,
    unknownEvents: 0,
    lingers: false,
  };
}

/** Lives through a world in which nothing is done but look at cards. */
export async function runCards(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const world = new World(seed, options.said);
  const climate = climateOf(world);
  world.note(`climate ${JSON.stringify(climate)}`);
  const site = new CardSite(world, climate);
  // Of whole gateways it needs what is here.
  const misfortunes = new Misfortunes(site as unknown as Site, { hooks: [] } as unknown as People, climate, options);
  const often = (fromMs: number, toMs: number, act: () => void) => {
    const again = () => {
      act();
      world.after(world.fate.random.between(fromMs, toMs), again, NOBODY);
    };
    world.after(world.fate.random.between(fromMs, toMs), again, NOBODY);
  };
  for (let n = world.fate.integer(0, 6); n > 0; n--) site.chain.close([]);
  for (let n = climate.gateways; n > 0; n--) misfortunes.startOne();
  often(LEDGER_MS, LEDGER_MS, () => site.chain.close([]));
  often(20, world.fate.random.pick([500, 3_000, 10_000]), () => void site.look());
  often(100, climate.misfortuneEveryMs, () => misfortunes.strike());
  await world.runUntil(climate.lastsMs);
  site.isOver = true;
  site.onDeath = () => {};
  const broken = [...site.faults];
  checkBackSteps(site, site.shown, site.applied, broken);
  for (const { machine } of [...site.running]) machine.die("at the end");
  return {
    seed,
    broken,
    trace: world.traceHash(),
    steps: world.steps,
    simulatedMs: world.nowMs,
    events: 0,
    deliveries: 0,
    payments: 0,
    logged: [],
  };
}

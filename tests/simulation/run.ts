import process from "node:process";
import { cardAt, LEDGER_MS } from "./chain.ts";
import type { HistoryReader } from "./client.ts";
import { type Climate, drawClimate } from "./climate.ts";
import { type Focus, focused } from "./focus.ts";
import { brokenInvariants, watchTerms } from "./invariants.ts";
import { Misfortunes } from "./misfortunes.ts";
import { People } from "./people.ts";
import { Site } from "./site.ts";
import { NOBODY, World } from "./world.ts";

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
  payments: number;
  logged: string[];
}

export interface RunOptions {
  /** Told of everything that happens. */
  said?: (line: string) => void;
  /** Only so many of the seed's misfortunes happen: to shorten what fails. */
  misfortunes?: number;
  /** None of these kinds happen. */
  without?: readonly string[];
  /** Nothing is done but this. */
  focus?: Focus;
}

/** After the misfortunes: leases of the dead and retries have their time … */
const CALM_MS = 100_000;
/** … and so have second looks, where nodes withheld something … */
const CALM_FOR_LOOKS_MS = 250_000;
/** … and what was sent without a key, and is in no ledger, has to be too late before its payer begins again … */
const CALM_FOR_KEYLESS_MS = 500_000;
/** … and, where no gateway starts anew, the check that comes every ten minutes and tells a network that was reset. */
const CALM_AFTER_RESET_MS = 700_000;
/** The crons of isolates come every minute. */
const TURN_EVERY_MS = 60_000;
/** By then there are some. */
const FIRST_TURN_MS = 1_000;
/** How often one comes while the turn before is still running: of a deployment and its successor. */
const OVERLAPPING = 0.3;
/** Nobody but who pays does anything on the network any more … */
const LAST_MS = 30_000;
/** … and nobody at all: what happened has its time to arrive. */
const SETTLING_MS = 15_000;
/** … and the ends of payments settle, which takes a few turns where processes take turns. */
const TELLING_MS = 400_000;
/** Who follows the live stream may have waited before reading on. */
const STREAMING_MS = 30_000;

/** Lives through one world: everything in it follows from the seed. */
export async function run(seed: number, options: RunOptions = {}): Promise<RunResult> {
  const world = new World(seed, options.said);
  const drawn = drawClimate(world);
  const climate = options.focus === undefined ? drawn : focused(drawn, options.focus, seed);
  world.note(`climate ${JSON.stringify(climate)}`);
  const site = await Site.open(world, climate);
  const people = await People.gather(site, climate);
  const misfortunes = new Misfortunes(site, people, climate, options);
  // Of it a process dies.
  const hear = (cause: unknown) => void site.faults.push(`a rejection was heard by nobody: ${cause}`);
  process.on("unhandledRejection", hear);
  const broken = await new Story(site, people, misfortunes, climate).live().finally(() => {
    process.off("unhandledRejection", hear);
  });
  const { length: events } = await site.driver.events.read({ filter: {}, order: "desc", limit: 1_000 });
  const result = {
    seed,
    broken,
    trace: world.traceHash(),
    steps: world.steps,
    simulatedMs: world.nowMs,
    events,
    deliveries: site.receivers.heard.length,
    payments: site.chain.accounts.applied.length,
    logged: site.logged,
  };
  await site.close();
  return result;
}

class Story {
  readonly broken: string[] = [];
  #isEnding = false;
  #isOver = false;

  constructor(
    readonly site: Site,
    readonly people: People,
    readonly misfortunes: Misfortunes,
    readonly climate: Climate,
  ) {
    watchTerms(site, (what) => this.broken.push(what));
  }

  async live(): Promise<string[]> {
    const { site, people, misfortunes, climate } = this;
    const { world } = site;
    for (let n = world.fate.integer(0, 6); n > 0; n--) site.chain.close(this.#cards());
    for (let n = climate.gateways; n > 0; n--) misfortunes.startOne();
    this.#often(LEDGER_MS, LEDGER_MS, () => site.chain.close(this.#isEnding ? [] : this.#cards()));
    for (const reader of [...people.readers, ...people.backward]) this.#often(1_000, 8_000, () => void reader.read());
    this.#often(100, climate.deedEveryMs, () => void people.act());
    if (climate.isTurned) this.#takeTurns();
    world.after(3_000, () => people.begin(), NOBODY);
    world.after(3_500, () => {
      this.#often(100, climate.misfortuneEveryMs, () => misfortunes.strike());
    }, NOBODY);
    await this.#until(climate.lastsMs);
    await this.#becomeCalm();
    this.#isEnding = site.chain.isQuiet = true;
    await this.#until(LAST_MS + this.#turnsMs);
    if (this.broken.length > 0) return this.broken;
    this.#isOver = true;
    if (climate.isTurned) void site.turn();
    await this.#until(SETTLING_MS);
    for (let ms = 0; ms < TELLING_MS && !await this.#isTold(); ms += LEDGER_MS) await this.#until(LEDGER_MS);
    for (const reader of people.readers) await this.#readToTheEnd(reader);
    await this.#until(STREAMING_MS);
    for (const follower of [...people.streams, ...people.cardReaders, ...people.paymentReaders]) follower.isOver = true;
    return [...this.broken, ...await brokenInvariants(site, people)];
  }

  /** Whether there is nothing left to tell of payments. */
  async #isTold(): Promise<boolean> {
    const { chain, driver, store: { payments } } = this.site;
    const upToLedger = chain.ledgers.latest;
    // What a claim took may be known only once its ledger has settled.
    const lastClaim = Math.max(0, ...chain.ledgers.escrow.claims.map(({ ledger }) => ledger));
    const { settledLedger } = await driver.payments.cursor() ?? { settledLedger: 0 };
    if (settledLedger < lastClaim) return false;
    const due = (["last_quarter", "end", "settling"] as const)
      .map((what) => payments.due({ for: what, upToLedger, limit: 1 }));
    const found = await Promise.all([...due, payments.owing({ limit: 1 })]);
    return found.flat().length === 0;
  }

  /** Crons take no notice of how the story goes. */
  #takeTurns(): void {
    const { site } = this;
    const again = () => {
      if (!site.isTurning || site.world.chance(OVERLAPPING)) void site.turn();
      site.world.after(TURN_EVERY_MS, again, NOBODY);
    };
    site.world.after(FIRST_TURN_MS, again, NOBODY);
    this.#often(TURN_EVERY_MS, 5 * TURN_EVERY_MS, () => site.tidy());
  }

  /** What is seen to in turns takes two of them longer. */
  get #turnsMs(): number {
    return this.climate.isTurned ? 2 * TURN_EVERY_MS : 0;
  }

  #until(ms: number): Promise<void> {
    const { world } = this.site;
    return world.runUntil(world.nowMs + ms, () => this.broken.length > 0);
  }

  /** Everything becomes well and stays so, for as long as mending takes. */
  async #becomeCalm(): Promise<void> {
    const { site, people, misfortunes, climate } = this;
    const { world } = site;
    world.note("calm");
    misfortunes.becomeCalm();
    await people.becomeCalm();
    // Some are found out when a gateway begins, or in the long run.
    const startsAnew = misfortunes.wasPruned || (misfortunes.wasReset && world.fate.chance(0.8)) ||
      world.fate.chance(0.3);
    if (startsAnew) { for (const { machine } of [...site.running]) machine.die("to begin anew"); }
    if (site.running.length === 0) misfortunes.startOne();
    const looks = climate.ailments.includes("withholds") && climate.misfortunes.some(([what]) => what === "ail");
    if (climate.isKeyless) await this.#until(CALM_FOR_KEYLESS_MS + this.#turnsMs);
    else if (looks) await this.#until(CALM_FOR_LOOKS_MS + this.#turnsMs);
    else await this.#until(misfortunes.wasReset && !startsAnew ? CALM_AFTER_RESET_MS : CALM_MS + this.#turnsMs);
  }

  /** Does something again and again, after pauses of between so long and so long. */
  #often(fromMs: number, toMs: number, act: () => void): void {
    const { world } = this.site;
    const again = () => {
      if (this.#isOver) return;
      act();
      world.after(world.fate.random.between(fromMs, toMs), again, NOBODY);
    };
    world.after(world.fate.random.between(fromMs, toMs), again, NOBODY);
  }

  async #readToTheEnd(reader: HistoryReader): Promise<void> {
    const { world } = this.site;
    let isDone = false;
    void (async () => {
      while (await reader.read() || reader.isAsking) await world.pass(10, NOBODY);
      isDone = true;
    })();
    await world.runUntil(world.nowMs + 60_000, () => isDone);
  }

  /** Those cards that a ledger has events of. */
  #cards(): string[] {
    const { site: { world }, misfortunes, climate } = this;
    const more = misfortunes.burst;
    misfortunes.burst = 0;
    return Array.from({ length: world.fate.integer(0, climate.eventsOfLedger) + more }, () => cardAt(world.fate));
  }
}

import { OWN_EVENT_TYPES } from "../../lib/store/event.ts";
import { BackwardReader } from "./backward_reader.ts";
import { CardReader } from "./card_reader.ts";
import { cardAt, TYPES } from "./chain.ts";
import { Client, HistoryReader } from "./client.ts";
import { type Climate, type Deed, pickWeighted } from "./climate.ts";
import { askAtOnce, comeBack } from "./hurry.ts";
import { KeyedPayer } from "./keyed_payer.ts";
import { KeylessPayer } from "./keyless_payer.ts";
import type { Payer } from "./payer.ts";
import { PaymentReader } from "./payment_reader.ts";
import { drawQuestion, OWN_EVENTS } from "./question.ts";
import { FIRST_LEDGER, type Site } from "./site.ts";
import { StreamReader } from "./stream_reader.ts";
import { Dice, NOBODY } from "./world.ts";

/** A webhook that its maker knows of. */
export interface Hook {
  id: string;
  client: Client;
  url: string;
  /** It was asked to go: it may have. */
  isUnwanted?: true;
}

/** A replay that was taken on. */
export interface TakenReplay {
  hookId: string;
  askedMs: number;
  /** Where the log ended when it was asked for. */
  upTo: number;
  /** Of this event alone. */
  eventId?: string;
}

/** The webhooks' limit in a world: each costs time. */
const MOST_HOOKS = 8;
const MOST_REPLAYS = 4;
/** How often the answer to a rotation is lost: for a day the former secret has to do. */
const DEAF = 0.3;
/** How often one event is asked for again instead of all, and a test event is sent by who looks at a webhook. */
const RATES = { resends: 0.3, tests: 0.3 };
/** Apart from the dice of all else. */
const DICE = 8_000_000_011;
const ASKING = 13_000_000_027;
const DOUBLING = 14_000_000_003;
/** How many events a page has for who asks for a part of the history. */
const PAGES = [3, 20, 100];

/** All who use the gateways, and what they do. */
export class People {
  readonly readers: HistoryReader[];
  readonly streams: StreamReader[];
  readonly backward: BackwardReader[];
  readonly cardReaders: CardReader[];
  /** None in worlds without payments. */
  readonly paymentReaders: PaymentReader[];
  readonly hooks: Hook[] = [];
  /** Those who make webhooks: their keys come and go. */
  readonly makers: Client[];
  readonly replays: TakenReplay[] = [];
  isCalm = false;
  readonly #dice: Dice;
  readonly #doubling: Dice;
  #urls = 0;
  #replays = 0;

  private constructor(
    readonly site: Site,
    readonly climate: Climate,
    readonly clients: Client[],
    readonly hurried: Client[],
    readonly payers: Payer[],
  ) {
    this.#dice = new Dice(site.world.seed + DICE);
    this.#doubling = new Dice(site.world.seed + DOUBLING);
    this.makers = clients.slice(0, 2);
    const followers = this.makers.slice(0, climate.followers);
    this.readers = followers.map((client, n) => new HistoryReader(client, n === 0 ? 7 : 100));
    this.streams = followers.map((client, n) => new StreamReader(client, n + 1));
    this.backward = this.#askWithQuestions();
    const isPaying = climate.payers + climate.strangers > 0;
    this.paymentReaders = isPaying ? [new PaymentReader(this.makers[1]!)] : [];
    if (isPaying) this.readers.push(new HistoryReader(this.makers[0]!, 20, OWN_EVENTS));
    this.cardReaders = Array.from({ length: climate.lookers }, (_, n) => new CardReader(this.makers[n % 2]!, n + 1));
  }

  /** Who asks for a part of the history does so in pages, by live stream and backwards. */
  #askWithQuestions(): BackwardReader[] {
    const dice = new Dice(this.site.world.seed + ASKING);
    return Array.from({ length: this.climate.askers }, () => {
      const client = dice.random.pick(this.makers);
      const draw = (mayEnd: boolean) => drawQuestion(dice, this.climate, mayEnd);
      this.readers.push(new HistoryReader(client, dice.random.pick(PAGES), draw(true)));
      this.streams.push(new StreamReader(client, this.streams.length + 1, draw(false)));
      return new BackwardReader(client, draw(true), dice.random.pick(PAGES));
    });
  }

  static async gather(site: Site, climate: Climate): Promise<People> {
    const makers = [await Client.enrol(site, "shop", 6_000), await Client.enrol(site, "till", 6_000)];
    const hurried: Client[] = [];
    for (const [n, rate] of climate.hurried.entries()) hurried.push(await Client.enrol(site, `hurried ${n}`, rate));
    const payers: Payer[] = [];
    const OnePayer = climate.isKeyless ? KeylessPayer : KeyedPayer;
    for (let n = 0; n < climate.payers; n++) {
      payers.push(new OnePayer(await Client.enrol(site, `payer ${n}`, 6_000), n));
    }
    const clients = [...makers, ...hurried, ...payers.map(({ client }) => client)];
    return new People(site, climate, clients, hurried, payers);
  }

  /** Makes the first webhooks, some of them at once, and begins to pay. */
  begin(): void {
    const { world } = this.site;
    for (let n = 0; n < this.climate.hooks; n++) {
      const afterMs = world.doings.chance(0.5) ? 0 : world.doings.integer(0, 20_000);
      world.after(afterMs, () => void this.#makeHook(), NOBODY);
    }
    for (const payer of this.payers) void payer.live();
    for (const stream of this.streams) void stream.live();
    for (const reader of [...this.cardReaders, ...this.paymentReaders]) void reader.live();
  }

  /** One of them does something. */
  async act(): Promise<void> {
    const deed = pickWeighted(this.site.world.doings, this.climate.deeds);
    if (deed !== undefined) await this.#deeds[deed]();
  }

  readonly #deeds: Record<Deed, () => Promise<unknown>> = {
    makeHook: () => this.#makeHook(),
    removeHook: () =>
      this.#onHook(async (id, owner) => {
        this.hooks.find((hook) => hook.id === id)!.isUnwanted = true;
        const removed = await owner.ask("DELETE", `/v1/webhooks/${id}`);
        if (removed?.status === 200) this.site.receivers.deletedAtMs.set(id, this.site.world.nowMs);
      }),
    rotate: () =>
      this.#onHook(async (id, owner) => {
        const rotated = await owner.ask("POST", `/v1/webhooks/${id}/secret`);
        const isHeard = this.isCalm || !this.site.world.doings.chance(DEAF);
        if (isHeard && rotated?.status === 200) this.site.receivers.secrets.get(id)!.push(rotated.body.secret);
      }),
    replay: () =>
      this.#onHook(async (id, owner) => {
        if (++this.#replays <= MOST_REPLAYS) await this.#replay(id, owner);
      }),
    switchKey: () => this.#switchKey(),
    look: () =>
      this.#onHook(async (id, owner) => {
        await owner.ask("GET", `/v1/webhooks/${id}/deliveries`);
        await owner.ask("GET", "/v1/status");
        if (this.#dice.chance(RATES.tests)) await owner.ask("POST", `/v1/webhooks/${id}/test`);
      }),
    hurry: () => this.#hurry(),
  };

  /** Of all that is past, or of one event. */
  async #replay(hookId: string, owner: Client): Promise<void> {
    const { world, receivers, driver } = this.site;
    receivers.replayed.add(hookId);
    const askedMs = world.nowMs;
    // A driver in memory answers at once.
    const { last: upTo } = driver.events.bounds() as { last: number };
    const [one] = !this.#dice.chance(RATES.resends)
      ? []
      : await driver.events.read({ filter: {}, after: this.#dice.integer(0, upTo), order: "asc", limit: 1 });
    const body = one === undefined ? { fromLedger: FIRST_LEDGER } : { eventId: one.id };
    const answered = await owner.ask("POST", `/v1/webhooks/${hookId}/replay`, { body });
    if (answered?.status === 202) this.replays.push({ hookId, askedMs, upTo, eventId: one?.id });
  }

  async #switchKey(): Promise<void> {
    const client = this.site.world.doings.random.pick(this.makers);
    if (this.isCalm) return;
    await client.setEnabled(!client.isEnabled);
  }

  /** Under a key of its own intent: whoever heard no answer asks again, and has one webhook in the end. */
  async #makeHook(): Promise<void> {
    const { world, receivers } = this.site;
    if (this.#urls >= MOST_HOOKS) return;
    const client = world.doings.random.pick(this.makers);
    const url = `https://hook${++this.#urls}.example/`;
    const { tempers, payers, strangers } = this.climate;
    const types = payers + strangers > 0 ? [...TYPES, ...OWN_EVENT_TYPES] : TYPES;
    receivers.setTemper(url, this.isCalm || world.doings.chance(0.4) ? "well" : world.doings.random.pick(tempers));
    const filter = {
      ...(world.doings.chance(0.3) ? { types: [world.doings.random.pick(types)] } : {}),
      ...(world.doings.chance(0.3) ? { deviceHash: cardAt(world.doings) } : {}),
      ...(world.doings.chance(this.climate.ordered) ? { ordered: true } : {}),
    };
    for (let tries = 0; tries < 20; tries++) {
      const ask = () => client.ask("POST", "/v1/webhooks", { body: { url, ...filter }, intent: url });
      const both = await Promise.all(this.#doubling.chance(this.climate.doubled) ? [ask(), ask()] : [ask()]);
      const told = both.filter((answered) => answered?.status === 201);
      const made = told[0];
      if (made && told.some((one) => one!.body.id !== made.body.id)) this.site.faults.push(`${url} was made twice`);
      if (made?.status === 201) {
        const { id, secret } = made.body;
        this.hooks.push({ id, client, url });
        receivers.secrets.set(id, [secret]);
        receivers.owners.set(id, client.keyId);
        return;
      }
      await world.pass(world.doings.random.between(500, 5_000), NOBODY);
    }
  }

  async #onHook(act: (id: string, owner: Client) => Promise<unknown>): Promise<void> {
    if (this.hooks.length === 0) return;
    const { id, client } = this.site.world.doings.random.pick(this.hooks);
    await act(id, client);
  }

  async #hurry(): Promise<void> {
    const { world } = this.site;
    if (this.hurried.length === 0) return;
    const client = world.doings.random.pick(this.hurried);
    await askAtOnce(client, world.doings.integer(1, 40));
    if (this.climate.comesBack) await comeBack(client);
  }

  /** From now on all goes well: keys are enabled again, and nobody begins a payment. */
  async becomeCalm(): Promise<void> {
    this.isCalm = true;
    for (const payer of this.payers) payer.isOver = true;
    for (const client of this.makers) if (!client.isEnabled) await client.setEnabled(true);
  }
}

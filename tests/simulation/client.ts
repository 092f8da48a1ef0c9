import { mintKey } from "../../lib/keys/api_key.ts";
import { SCOPES } from "../../lib/store/store.ts";
import { asked, EVERYTHING, type Question } from "./question.ts";
import type { Running, Site } from "./site.ts";
import { type Dice, NOBODY, START_MS, type Timer } from "./world.ts";

/** How long a key may still be heard of after it was disabled. */
export const HEED_MS = 1_000;

/** So long a client waits for an answer: longer than a submit takes. */
const TIMEOUT_MS = 75_000;

export interface Answered {
  status: number;
  // deno-lint-ignore no-explicit-any -- JSON
  body: any;
  machine: string;
  /** In how many seconds to come back. */
  retryAfter: number;
}

/** One who holds an API key and asks whichever gateway the balancer picks. */
export class Client {
  /** When its key was disabled or enabled, the world's ms. */
  readonly switched: { atMs: number; enabled: boolean }[] = [];
  /** When requests were admitted. */
  readonly admitted: { askedMs: number; answeredMs: number; machine: string }[] = [];
  /** How many questions were begun, and how many of them a gateway may still have before it. */
  asked = 0;
  underWay = 0;
  /** When each gateway last let a request of it in, or may have, the world's ms. */
  readonly letIn = new Map<string, number>();

  private constructor(readonly site: Site, readonly key: string, readonly keyId: string, readonly rate: number) {}

  static async enrol(site: Site, name: string, rate: number): Promise<Client> {
    const random = (length: number) => Uint8Array.from({ length }, () => Math.floor(site.world.random.next() * 256));
    const { key, record } = mintKey({ name, scopes: [...SCOPES], rate, now: START_MS, random });
    await site.driver.keys.insert(record);
    return new Client(site, key, record.id, rate);
  }

  get isEnabled(): boolean {
    return this.switched.at(-1)?.enabled ?? true;
  }

  /** As the operator's command does, beside the gateways. */
  async setEnabled(enabled: boolean): Promise<void> {
    await this.site.driver.keys.setDisabled(this.keyId, !enabled);
    this.switched.push({ atMs: this.site.world.nowMs, enabled });
    this.site.world.note(`key ${this.keyId} ${enabled ? "enabled" : "disabled"}`);
  }

  /**
   * Asks a gateway, which may stand still just then. Undefined: none is there, or the one that was asked has died of it, or
   * the answer did not come in time. `leaving`: of one who leaves before the answer; then, too.
   */
  async ask(
    method: string,
    path: string,
    { body, intent, leaving }: { body?: unknown; intent?: string; leaving?: AbortController } = {},
  ) {
    const { world, running } = this.site;
    const serving = running.filter(({ gateway }) => gateway !== undefined);
    if (serving.length === 0) return undefined;
    const on = world.random.pick(serving);
    const askedMs = world.nowMs;
    let timer: Timer | undefined;
    const nothing = new Promise<undefined>((resolve) => {
      timer = world.after(TIMEOUT_MS, () => {
        leaving?.abort();
        resolve(undefined);
      }, NOBODY);
    });
    const headers: Record<string, string> = intent === undefined ? {} : { "idempotency-key": intent };
    this.asked++;
    this.underWay++;
    const asking = Promise.race([this.#askOf(on, method, path, headers, body, leaving?.signal), on.machine.died])
      .finally(() => this.underWay--);
    const answered = await Promise.race([asking, nothing]);
    timer!.isCancelled = true;
    if (answered?.status === 500) this.site.faults.push(`${method} ${path} was answered 500`);
    const { message = "" } = answered?.body?.error ?? {};
    world.note(`${method} ${path.split("?")[0]} of ${on.machine.name}: ${answered?.status} ${message}`);
    if (![401, 429].includes(answered?.status ?? 0)) this.letIn.set(on.machine.name, world.nowMs);
    if (answered !== undefined && answered.status < 500 && ![401, 429].includes(answered.status)) {
      this.admitted.push({ askedMs, answeredMs: world.nowMs, machine: answered.machine });
    }
    return answered;
  }

  /** Opens a stream at a gateway; undefined: none is there, or it refuses. */
  async open(path: string, dice: Dice, lastEventId: string | undefined) {
    const { world, running } = this.site;
    const serving = running.filter(({ gateway }) => gateway !== undefined);
    if (serving.length === 0) return undefined;
    const { machine, gateway } = dice.random.pick(serving);
    const headers = {
      authorization: `Bearer ${this.key}`,
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
    };
    const askedMs = world.nowMs;
    await Promise.race([world.pass(dice.random.between(0.1, 2), machine, true), machine.died]);
    if (machine.isDead) return undefined;
    const request = new Request(`http://gateway.test${path}`, { headers });
    const asked = world.as(machine, () => gateway!.fetch(request, { remoteAddress: "198.51.100.7" }));
    const response = await Promise.race([asked, machine.died]);
    world.note(`GET ${path} of ${machine.name}: ${response?.status}`);
    if (response?.status === 500) this.site.faults.push(`GET ${path} was answered 500`);
    if (response?.status !== 200) return void await response?.body?.cancel();
    this.letIn.set(machine.name, world.nowMs);
    this.admitted.push({ askedMs, answeredMs: world.nowMs, machine: machine.name });
    return { machine, body: response.body! };
  }

  async #askOf(
    { machine, gateway }: Running,
    method: string,
    path: string,
    headers: Record<string, string>,
    body: unknown,
    signal: AbortSignal | undefined,
  ): Promise<Answered> {
    const { world } = this.site;
    await world.pass(world.random.between(0.1, 2), machine, true);
    const request = new Request(`http://gateway.test${path}`, {
      method,
      signal,
      headers: {
        authorization: `Bearer ${this.key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    world.reading();
    const response = await world.as(machine, () => gateway!.fetch(request, { remoteAddress: "198.51.100.7" }));
    world.reading();
    const text = await response.text();
    const retryAfter = Number(response.headers.get("retry-after"));
    const answer = text === "" ? undefined : JSON.parse(text);
    return { status: response.status, body: answer, machine: machine.name, retryAfter };
  }
}

/** An event as a page shows it. */
export interface SeenEvent {
  id: string;
  txHash: string;
}

/** Follows the history by cursor, as an accounting job does. */
export class HistoryReader {
  readonly seen: SeenEvent[] = [];
  cursor: string | undefined;
  isAsking = false;

  constructor(readonly client: Client, readonly limit: number, readonly question: Question = EVERYTHING) {}

  get name(): string {
    return asked(`a reader of pages of ${this.limit}`, this.question);
  }

  /** Reads one page; answers whether there may be more. */
  async read(): Promise<boolean> {
    if (this.isAsking) return false;
    this.isAsking = true;
    try {
      const { client, question, limit, cursor } = this;
      const answered = await client.ask("GET", asked("/v1/events", question, { limit, cursor }));
      if (answered?.status === 400) client.site.faults.push(`${this.name}: ${answered.body.error.message}`);
      if (answered?.status !== 200) return answered === undefined;
      for (const event of answered.body.events as SeenEvent[]) {
        this.client.site.hearEvent(event);
        this.seen.push({ id: event.id, txHash: event.txHash });
      }
      this.cursor = answered.body.cursor;
      return answered.body.events.length === this.limit;
    } finally {
      this.isAsking = false;
    }
  }
}

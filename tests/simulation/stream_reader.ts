import { type ServerSentEvent, serverSentEvents } from "../../lib/client/server_sent_events.ts";
import type { Client, SeenEvent } from "./client.ts";
import { asked, EVERYTHING, type Question } from "./question.ts";
import { Dice, NOBODY } from "./world.ts";

/** Apart from the dice of all else. */
const DICE = 3_000_000_019;
/** How often one leaves by itself at an event, or waits at a heartbeat before it reads on. */
const RATES = { leaves: 0.01, dawdles: 0.3 };

/** Follows the history by the live stream, as a dashboard does, and comes back where it was when that ends. */
export class StreamReader {
  readonly seen: SeenEvent[] = [];
  /** When it heard of events, the world's ms; of what came while it waited before reading on, when that began. */
  readonly heardMs: number[] = [];
  readonly name: string;
  isOver = false;
  #lastEventId: string | undefined;
  #dawdled = { fromMs: 0, toMs: 0 };
  readonly #dice: Dice;

  constructor(readonly client: Client, readonly number: number, readonly question: Question = EVERYTHING) {
    this.name = asked(`live stream ${number}`, question);
    this.#dice = new Dice(client.site.world.seed + number * DICE);
  }

  /** Follows until it is over. */
  async live(): Promise<void> {
    while (!this.isOver) {
      await this.#follow();
      await this.#pause(100, 3_000);
    }
  }

  #pause(fromMs: number, toMs: number): Promise<void> {
    return this.client.site.world.pass(this.#dice.random.between(fromMs, toMs), NOBODY);
  }

  async #follow(): Promise<void> {
    const { site } = this.client;
    const opened = await this.client.open(asked("/v1/events/stream", this.question), this.#dice, this.#lastEventId);
    if (opened === undefined) return;
    const { machine, body } = opened;
    const frames = serverSentEvents(body);
    while (true) {
      const read = site.world.as(machine, () => frames.next());
      const next = await Promise.race([read.catch(() => undefined), machine.died]);
      if (next === undefined || next.done) return;
      this.#hear(next.value);
      // With a heartbeat nothing else has come: what is heard after a pause was not sent before it.
      const isHeartbeat = next.value.event === "ledger";
      if (isHeartbeat && this.#dice.chance(RATES.dawdles)) await this.#dawdle();
      if (this.#dice.chance(RATES.leaves)) return void await frames.return(undefined);
    }
  }

  /** What is there when it reads on was sent meanwhile. */
  async #dawdle(): Promise<void> {
    const { world } = this.client.site;
    const fromMs = world.nowMs;
    await this.#pause(100, 15_000);
    this.#dawdled = { fromMs, toMs: world.nowMs };
  }

  #hear({ event, data, id: lastEventId }: ServerSentEvent): void {
    const { world } = this.client.site;
    world.note(`${this.name} hears ${event} after ${this.seen.length} events`);
    this.#lastEventId = lastEventId || this.#lastEventId;
    if (event !== "message") return;
    const said = JSON.parse(data) as SeenEvent;
    const { id, txHash } = said;
    this.client.site.hearEvent(said);
    this.seen.push({ id, txHash });
    this.heardMs.push(world.nowMs === this.#dawdled.toMs ? this.#dawdled.fromMs : world.nowMs);
  }
}

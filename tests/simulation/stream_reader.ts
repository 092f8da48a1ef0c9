import type { Client, SeenEvent } from "./client.ts";
import { Dice, NOBODY } from "./world.ts";

/** Apart from the dice of all else. */
const DICE = 3_000_000_019;
/** How often one leaves by itself, or waits before it reads on. */
const RATES = { leaves: 0.02, dawdles: 0.1 };

/** Follows the history by the live stream, as a dashboard does, and comes back where it was when that ends. */
export class StreamReader {
  readonly seen: SeenEvent[] = [];
  /** When it heard of events, the world's ms. */
  readonly heardMs: number[] = [];
  readonly name: string;
  isOver = false;
  #lastEventId: string | undefined;
  readonly #dice: Dice;

  constructor(readonly client: Client, readonly number: number) {
    this.name = `live stream ${number}`;
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
    const opened = await this.client.open("/v1/events/stream", this.#dice, this.#lastEventId);
    if (opened === undefined) return;
    const { machine, body } = opened;
    const reader = body.getReader();
    const decoder = new TextDecoder();
    let text = "";
    while (true) {
      const read = site.world.as(machine, () => reader.read());
      const chunk = await Promise.race([read.catch(() => undefined), machine.died]);
      if (chunk === undefined || chunk.done) return;
      text += decoder.decode(chunk.value, { stream: true });
      const frames = text.split("\n\n");
      text = frames.pop()!;
      for (const frame of frames) this.#hear(frame);
      site.world.note(`${this.name} at ${machine.name} says ${frames.length}, ${this.seen.length} events in all`);
      if (this.#dice.chance(RATES.dawdles)) await this.#pause(100, 15_000);
      if (!this.#dice.chance(RATES.leaves)) continue;
      await reader.cancel();
      return;
    }
  }

  /** A frame of server-sent events. */
  #hear(frame: string): void {
    const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: (.*)/, 2)));
    if (fields.id !== undefined) this.#lastEventId = fields.id;
    if (fields.event !== undefined || fields.data === undefined) return;
    const { id, txHash } = JSON.parse(fields.data) as SeenEvent;
    this.seen.push({ id, txHash });
    this.heardMs.push(this.client.site.world.nowMs);
  }
}

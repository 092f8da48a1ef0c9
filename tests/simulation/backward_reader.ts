import type { LoggedEvent } from "../../lib/store/event.ts";
import type { Client, SeenEvent } from "./client.ts";
import { asked, type Question } from "./question.ts";

/** Goes through the history from its newest event to its oldest, as a page for people does, and then anew. */
export class BackwardReader {
  /** What it saw each time that it came to the oldest one, and where the log ended when it began. */
  readonly walks: { seen: SeenEvent[]; lastBefore: number }[] = [];
  #walk: { seen: SeenEvent[]; lastBefore: number } | undefined;
  #cursor: string | undefined;
  #isAsking = false;

  constructor(readonly client: Client, readonly question: Question, readonly limit: number) {}

  /** Reads one page, and looks at one of its events. */
  async read(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      await this.#readPage();
    } finally {
      this.#isAsking = false;
    }
  }

  async #readPage(): Promise<void> {
    const { site } = this.client;
    // A driver in memory answers at once.
    const walk = this.#walk ??= { seen: [], lastBefore: (site.driver.events.bounds() as { last: number }).last };
    const page = { order: "desc", limit: this.limit, cursor: this.#cursor } as const;
    const path = asked("/v1/events", this.question, page);
    const answered = await this.client.ask("GET", path);
    if (answered?.status === 400) site.faults.push(`${path} was refused: ${answered.body.error.message}`);
    if (answered?.status !== 200) return;
    const events = answered.body.events as SeenEvent[];
    for (const event of events) {
      site.hearEvent(event);
      walk.seen.push({ id: event.id, txHash: event.txHash });
    }
    this.#cursor = answered.body.cursor;
    if (events.length > 0) await this.#lookAt(events[0]!.id);
    if (events.length === this.limit) return;
    this.walks.push(walk);
    this.#walk = this.#cursor = undefined;
  }

  async #lookAt(id: string): Promise<void> {
    const { site } = this.client;
    const answered = await this.client.ask("GET", `/v1/events/${id}`);
    if (answered?.status === 404) site.faults.push(`the event ${id} is in the history, and nowhere`);
    if (answered?.status === 200) site.hearEvent(answered.body);
  }
}

/** Each walk saw exactly what answers its question, from where the log ended then back to its beginning. */
export function checkWalks({ walks, question }: BackwardReader, log: LoggedEvent[], broken: string[]): void {
  const answers = log.filter(question.isAnswer);
  const name = asked("a reader backwards", question);
  for (const { seen, lastBefore } of walks) {
    const least = answers.filter(({ sequence }) => sequence <= lastBefore).length;
    if (seen.length < least) return void broken.push(`${name} saw ${seen.length} of ${least} events`);
    for (const [at, { id, txHash }] of seen.toReversed().entries()) {
      if (answers[at]?.id === id && answers[at]?.txHash === txHash) continue;
      return void broken.push(`${name} saw ${id} at place ${at + 1}, not ${answers[at]?.id}`);
    }
  }
}

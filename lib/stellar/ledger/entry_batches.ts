import type { Clock } from "../../clock.ts";
import type { RawLedgerEntry } from "../rpc/schemas.ts";

/** An entry as of a ledger; `entry` is undefined when the ledger does not hold it. */
export interface ReadEntry {
  ledger: number;
  entry: RawLedgerEntry | undefined;
}

/** `high`: does not wait for a call under way. `low`: goes when no other key waits. */
export type Priority = "high" | "normal" | "low";

export interface EntryBatches {
  /** Asks for one key with the next batch; joins a question for the same key that is no older than `maxAgeMs`. */
  ask(key: string, priority?: Priority): Promise<ReadEntry>;
}

/** The protocol's bound on one `getLedgerEntries`. */
export const MAX_KEYS_PER_CALL = 200;
const MAX_CALLS_IN_FLIGHT = 4;

interface Question {
  /** Monotonic; undefined while it waits to be sent. */
  sentAtMs: number | undefined;
  promise: Promise<ReadEntry>;
  resolve(found: ReadEntry): void;
  reject(error: unknown): void;
}

/**
 * Joins reads of single keys into calls of at most 200. A batch goes out at once when no call is under way. Else it goes
 * when that call ends, or when it is full and fewer than four calls are under way.
 */
export function createEntryBatches({ fetchEntries, clock: { monotonicMs }, maxAgeMs }: {
  /** Answers the entry of every key asked for. */
  fetchEntries: (keys: string[]) => Promise<Map<string, ReadEntry>>;
  clock: Pick<Clock, "monotonicMs">;
  /** Nobody joins a question that was sent longer ago: a late answer is an old one. */
  maxAgeMs: number;
}): EntryBatches {
  const questions = new Map<string, Question>();
  /** Keys that wait to be sent. */
  const waiting = { normal: new Set<string>(), low: new Set<string>() };
  let inFlight = 0;
  let isScheduled = false;
  let isUrgent = false;

  function waitingCount(): number {
    return waiting.normal.size + waiting.low.size;
  }

  /** What is asked in the same turn goes out together. */
  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    queueMicrotask(() => {
      isScheduled = false;
      sendReady();
    });
  }

  function sendReady(): void {
    const isReady = () =>
      isUrgent || inFlight === 0 || (waitingCount() >= MAX_KEYS_PER_CALL && inFlight < MAX_CALLS_IN_FLIGHT);
    while (waitingCount() > 0 && isReady()) {
      isUrgent = false;
      void send(takeBatch());
    }
  }

  function takeBatch(): string[] {
    const keys = [...waiting.normal, ...waiting.low].slice(0, MAX_KEYS_PER_CALL);
    for (const key of keys) if (!waiting.normal.delete(key)) waiting.low.delete(key);
    return keys;
  }

  async function send(keys: string[]): Promise<void> {
    const sent = new Map(keys.map((key) => [key, questions.get(key)!]));
    const sentAtMs = monotonicMs();
    for (const question of sent.values()) question.sentAtMs = sentAtMs;
    inFlight += 1;
    try {
      const found = await fetchEntries(keys);
      for (const [key, question] of sent) question.resolve(found.get(key)!);
    } catch (error) {
      for (const question of sent.values()) question.reject(error);
    }
    for (const [key, question] of sent) if (questions.get(key) === question) questions.delete(key);
    inFlight -= 1;
    sendReady();
  }

  function enqueue(key: string, priority: Priority): Question {
    const question: Question = { ...Promise.withResolvers<ReadEntry>(), sentAtMs: undefined };
    questions.set(key, question);
    waiting[priority === "low" ? "low" : "normal"].add(key);
    return question;
  }

  return {
    ask(key, priority = "normal") {
      const asked = questions.get(key);
      const isJoined = asked !== undefined && monotonicMs() - (asked.sentAtMs ?? Infinity) <= maxAgeMs;
      const question = isJoined ? asked : enqueue(key, priority);
      if (question.sentAtMs !== undefined) return question.promise;
      if (priority !== "low" && waiting.low.delete(key)) waiting.normal.add(key);
      if (priority === "high") isUrgent = true;
      schedule();
      return question.promise;
    },
  };
}

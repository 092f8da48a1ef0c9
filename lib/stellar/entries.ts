/*
 * Decides when a read of ledger entries is a call, joins a call, or comes from the cache. `fresh_read.ts` makes the
 * call.
 */

import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { freshRead, type FreshReadParts } from "./fresh_read.ts";
import type { RpcClient } from "./rpc/client.ts";
import type { RawLedgerEntry } from "./rpc/schemas.ts";

/** Entries as of one ledger, in the order of the keys; undefined for an entry that does not exist. */
export interface EntriesAnswer {
  ledger: number;
  entries: (RawLedgerEntry | undefined)[];
}

export interface EntryReader {
  /**
   * Reads entries by their base64 LedgerKeys, all as of the same ledger. `fresh` skips the cache and does not wait for
   * a call under way.
   * @throws {GatewayError} `upstream_error` when the node fails or lags, or when three tries return entries of
   * different ledgers
   */
  read(keys: string[], options?: { fresh?: boolean }): Promise<EntriesAnswer>;
  /** Reads the cache alone: undefined unless every entry is cached. */
  readNow(keys: string[]): EntriesAnswer | undefined;
}

export interface EntryReaderParts extends FreshReadParts {
  rpc: Pick<RpcClient, "getLedgerEntries">;
  clock: Clock;
  /** How long an answer stays cached while the head does not change; 6 000 when absent. */
  maxAgeMs?: number;
  /** How many entries are cached; 50 000 when absent. */
  maxEntries?: number;
}

/** `entry` is undefined when it does not exist in this ledger. */
interface ReadEntry {
  ledger: number;
  entry: RawLedgerEntry | undefined;
}

/** `high`: does not wait for a call under way. `low`: sent when no other key waits. */
type Priority = "high" | "normal" | "low";

const TRIES = 3;

/**
 * Reads ledger entries. Concurrent reads share calls. Answers, absent entries included, stay cached until the head
 * changes.
 */
export function createEntryReader(parts: EntryReaderParts): EntryReader {
  const { rpc, head, clock: { monotonicMs }, maxAgeMs = 6_000, maxEntries = 50_000 } = parts;
  const cached = new Map<string, ReadEntry & { readAtMs: number }>();
  head.onChange(() => cached.clear());

  const ask = createEntryBatches(async (keys) => {
    let askedAtMs = 0;
    const answer = await freshRead(parts, (options) => {
      askedAtMs = monotonicMs();
      return rpc.getLedgerEntries(keys, options);
    });
    const present = new Map(answer.entries.map((entry) => [entry.key, entry]));
    const found = new Map(keys.map((key) => [key, { ledger: answer.latestLedger, entry: present.get(key) }]));
    // The cache holds entries of the head, which may have changed since the answer.
    if (answer.latestLedger === head.sequence) { for (const [key, one] of found) store(key, one, askedAtMs); }
    return found;
  }, { monotonicMs, maxAgeMs });

  function store(key: string, found: ReadEntry, readAtMs: number): void {
    if (cached.size >= maxEntries) cached.delete(cached.keys().next().value!);
    cached.set(key, { ...found, readAtMs });
  }

  function cachedNow(key: string): ReadEntry | undefined {
    const found = cached.get(key);
    return found !== undefined && monotonicMs() - found.readAtMs <= maxAgeMs ? found : undefined;
  }

  return {
    readNow(keys) {
      const found = keys.map(cachedNow);
      if (found.includes(undefined)) return undefined;
      return { ledger: head.sequence, entries: found.map((one) => one!.entry) };
    },
    async read(keys, { fresh = false } = {}) {
      const priority = fresh ? "high" : keys.length > MAX_KEYS_PER_CALL ? "low" : "normal";
      for (let tried = 0; tried < TRIES; tried += 1) {
        const skipsCache = fresh && tried === 0;
        const found = await Promise.all(
          keys.map((key) => (skipsCache ? undefined : cachedNow(key)) ?? ask(key, priority)),
        );
        const ledger = found[0]?.ledger ?? head.sequence;
        if (found.every((one) => one.ledger === ledger)) return { ledger, entries: found.map((one) => one.entry) };
      }
      throw new GatewayError(
        "upstream_error",
        `${keys.length} ledger entries could not be read as of one ledger in ${TRIES} tries`,
      );
    },
  };
}

/** The protocol's limit for one `getLedgerEntries`. */
const MAX_KEYS_PER_CALL = 200;
const MAX_CALLS_IN_FLIGHT = 4;

interface Question {
  /** Monotonic; undefined until it is sent. */
  sentAtMs: number | undefined;
  promise: Promise<ReadEntry>;
  resolve(found: ReadEntry): void;
  reject(error: unknown): void;
}

/**
 * Joins reads of single keys into calls of at most 200. A batch waits while a call is under way; a full one only while
 * four are.
 */
function createEntryBatches(
  /** Returns the entry of each key. */
  fetchEntries: (keys: string[]) => Promise<Map<string, ReadEntry>>,
  /** `maxAgeMs`: a read does not join a call sent longer ago, because its answer may be old. */
  { monotonicMs, maxAgeMs }: Pick<Clock, "monotonicMs"> & { maxAgeMs: number },
): (key: string, priority: Priority) => Promise<ReadEntry> {
  const questions = new Map<string, Question>();
  /** Keys that wait to be sent. */
  const waiting = { normal: new Set<string>(), low: new Set<string>() };
  const waitingCount = () => waiting.normal.size + waiting.low.size;
  let inFlight = 0;
  let isScheduled = false;
  let isUrgent = false;

  /** Reads of the same microtask turn share a call. */
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
      void send([...waiting.normal, ...waiting.low].slice(0, MAX_KEYS_PER_CALL));
    }
  }

  async function send(keys: string[]): Promise<void> {
    for (const key of keys) if (!waiting.normal.delete(key)) waiting.low.delete(key);
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

  return function ask(key, priority) {
    const asked = questions.get(key);
    const isJoined = asked !== undefined && monotonicMs() - (asked.sentAtMs ?? Infinity) <= maxAgeMs;
    const question = isJoined ? asked : enqueue(key, priority);
    if (question.sentAtMs !== undefined) return question.promise;
    if (priority !== "low" && waiting.low.delete(key)) waiting.normal.add(key);
    if (priority === "high") isUrgent = true;
    schedule();
    return question.promise;
  };
}

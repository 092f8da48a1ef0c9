import { setImmediate as yieldToOthers } from "node:timers/promises";
import { isoSeconds } from "../clock.ts";
import { matches } from "./event.ts";
import type { LoggedEvent } from "./event.ts";
import { unixSeconds } from "./codec.ts";
import type { ReferencePlace } from "./reference.ts";
import type { Store } from "./store.ts";
import { FAILED_STATES, filterOf, type StoredConsumer } from "./webhook.ts";

export interface RetentionParts {
  store: Pick<
    Store,
    | "events"
    | "deliveries"
    | "subscriptions"
    | "submissions"
    | "references"
    | "transactions"
    | "intents"
    | "leases"
    | "sharedState"
    | "payments"
  >;
  /** Unique to this process. */
  holder: string;
  /** Unix milliseconds. */
  now(): number;
  /** How long the store keeps events, in days. 0: for ever. */
  historyDays: number;
  /** How long the store keeps attempts, in days. 0: for ever. */
  attemptDays: number;
}

/** One of several gateways does the job in this time: a little less than the hour between two runs of a gateway. */
const LEASE_MS = 3_300_000;
const DAY_MS = 86_400_000;
/** Longer than an envelope can be valid, and longer than any node remembers it. */
export const SUBMISSION_DAYS = 30;
/** How long the store keeps an `Idempotency-Key`. No client retries later. */
const INTENT_DAYS = 7;
/** A prepared transaction is applied within so much time, or never. Its events are younger than its reference. */
const LONGEST_LIFE_MS = DAY_MS;
/** References to check in one step. */
const REFERENCES_AT_ONCE = 50;
/** The shared value with the place of the last checked reference, and how long it stays. Without it the check begins again. */
const CHECKED_REFERENCES = "checked references";
const CHECKED_KEPT_MS = 3_650 * DAY_MS;
/** The bound of `events.forget`. */
const EVENTS_AT_ONCE = 200;
/** The most failed deliveries to delete in one commit: a tenth of a second's work. */
const FAILED_AT_ONCE = 5_000;
const CONSUMERS_AT_ONCE = 100;
const CONSUMERS_PAGE = 500;

/**
 * Makes the retention job. It deletes everything that is old enough, and the rows of deleted subscriptions, in small commits
 * with turns for others in between. Age counts by the older of the clock and the newest ledger's close time. So a clock that
 * jumps ahead deletes nothing. On a shared store a lease keeps the other gateways from the same run. A complete run does
 * not release it.
 */
export function createRetention(parts: RetentionParts): (signal: AbortSignal) => Promise<void> {
  const { store, holder, now, historyDays, attemptDays } = parts;

  /** Repeats a commit while it finds something. */
  async function repeat(signal: AbortSignal, commit: () => Promise<boolean>): Promise<void> {
    while (!signal.aborted && await commit()) await yieldToOthers();
  }

  /** Unix ms. Undefined before the first ledger: then the age of nothing is known. */
  async function networkNow(): Promise<number | undefined> {
    const closeTime = (await store.events.watcherState())?.latestLedgerCloseTime ?? 0;
    return closeTime === 0 ? undefined : Math.min(now(), closeTime * 1_000);
  }

  async function forgetEvents(signal: AbortSignal, closedBefore: string): Promise<void> {
    await repeat(signal, async () => await store.events.forgetUndecoded(closedBefore) > 0);
    const { last, behind, failing } = await consumersBehind();
    // Each consumer may have a failed delivery for every event.
    const atOnce = Math.max(1, Math.min(EVENTS_AT_ONCE, Math.floor(FAILED_AT_ONCE / failing)));
    await repeat(signal, () => deleteSome({ last, behind }, closedBefore, atOnce));
  }

  /**
   * The consumers that have events before them up to the log's end, by id. They are few where deliveries go well. `failing` is the
   * number of consumers with failed deliveries.
   */
  async function consumersBehind(): Promise<{ last: number; behind: Map<string, StoredConsumer>; failing: number }> {
    const behind = new Map<string, StoredConsumer>();
    let failing = 0;
    const { last } = await store.events.bounds();
    let after: string | undefined;
    while (true) {
      const page = await store.deliveries.consumers({ after, limit: CONSUMERS_PAGE });
      for (const consumer of page) {
        const { cursor, retrying, rejected, dead } = consumer.progress;
        if (cursor < last) behind.set(consumer.subscription.id, consumer);
        if (retrying + rejected + dead > 0) failing += 1;
      }
      if (page.length < CONSUMERS_PAGE) return { last, behind, failing };
      after = page.at(-1)!.subscription.id;
      await yieldToOthers();
    }
  }

  /** True while there may be more. Events after `last` wait for the next run: their undelivered consumers are unknown. */
  async function deleteSome(
    { last, behind }: { last: number; behind: Map<string, StoredConsumer> },
    closedBefore: string,
    atOnce: number,
  ): Promise<boolean> {
    const { forgotten } = await store.events.bounds();
    const page = {
      filter: {},
      withOwn: true as const,
      after: forgotten,
      upTo: last,
      order: "asc" as const,
      limit: atOnce,
    };
    const first = await store.events.read(page);
    const end = first.findIndex(({ ledgerClosedAt }) => unixSeconds(ledgerClosedAt) >= unixSeconds(closedBefore));
    const old = end < 0 ? first : first.slice(0, end);
    if (old.length === 0) return false;
    const upTo = old.at(-1)!.sequence;
    const isBefore = ({ progress }: StoredConsumer) => progress.cursor < upTo;
    const waiting = [...behind.values()].filter(isBefore);
    // Later failures of deleted events do not count, so the steps name all consumers before the events go.
    for (let areMore = true; areMore; waiting.splice(0, CONSUMERS_AT_ONCE)) {
      areMore = waiting.length > CONSUMERS_AT_ONCE;
      let some = waiting.slice(0, CONSUMERS_AT_ONCE);
      while (!await forgetFor(some, old, { upTo, areMore })) some = (await readAgain(behind, some)).filter(isBefore);
    }
    return true;
  }

  /** The failed deliveries among the given number of oldest events. Some lie after the cursor, if a delivery before them was not settled. */
  async function failedOf(
    { subscription, progress }: StoredConsumer,
    upTo: number,
    limit: number,
  ): Promise<Set<number>> {
    const { cursor, retrying, rejected, dead } = progress;
    if (retrying + rejected + dead === 0) return new Set();
    const subscriptionId = subscription.id;
    const lists = FAILED_STATES.map((state) =>
      store.deliveries.failed({ subscriptionId, state, beyond: state === "retrying" ? cursor : upTo + 1, limit })
    );
    return new Set((await Promise.all(lists)).flat().map(({ delivery }) => delivery.sequence));
  }

  async function forgetFor(
    consumers: StoredConsumer[],
    old: LoggedEvent[],
    { upTo, areMore }: { upTo: number; areMore: boolean },
  ): Promise<boolean> {
    const undelivered = [];
    for (const consumer of consumers) {
      const { subscription, progress: { cursor } } = consumer;
      const [filter, failed] = [filterOf(subscription), await failedOf(consumer, upTo, old.length)];
      const isUnsent = (event: LoggedEvent) =>
        event.sequence > cursor && matches(filter, event) && !failed.has(event.sequence);
      undelivered.push({ subscriptionId: subscription.id, cursor, events: old.filter(isUnsent).length });
    }
    if (!await store.events.forget({ upTo, undelivered, areMore })) return false;
    for (const { progress } of consumers) progress.cursor = upTo;
    return true;
  }

  /** One of these consumers has moved on: reads all of them again. */
  async function readAgain(
    behind: Map<string, StoredConsumer>,
    consumers: StoredConsumer[],
  ): Promise<StoredConsumer[]> {
    const found: StoredConsumer[] = [];
    for (const { subscription: { id } } of consumers) {
      const consumer = await store.deliveries.consumer(id);
      if (consumer === undefined) behind.delete(id);
      else found.push(consumer);
    }
    for (const consumer of found) behind.set(consumer.subscription.id, consumer);
    return found;
  }

  async function forgetAttempts(signal: AbortSignal, beforeMs: number): Promise<void> {
    let after: string | undefined;
    while (!signal.aborted) {
      const page = await store.subscriptions.list({ after, limit: CONSUMERS_PAGE });
      for (const { id } of page) {
        await store.deliveries.pruneAttempts(id, beforeMs);
        await yieldToOthers();
      }
      if (page.length < CONSUMERS_PAGE) return;
      after = page.at(-1)!.id;
    }
  }

  /**
   * Deletes references of transactions that were never submitted. It checks each reference once, when its transaction has been
   * applied or never will be. That needs a log that has caught up.
   */
  async function forgetUnused(signal: AbortSignal, preparedBeforeMs: number): Promise<void> {
    const state = await store.events.watcherState();
    if (state === undefined || state.scannedLedger < state.latestLedger) return;
    let after = await store.sharedState.read<ReferencePlace>(CHECKED_REFERENCES);
    await repeat(signal, async () => {
      const page = await store.references.list({ after, preparedBeforeMs, limit: REFERENCES_AT_ONCE });
      const last = page.at(-1);
      if (last === undefined) return false;
      const used = await usedHashes([...new Set(page.map(({ hash }) => hash))]);
      await store.references.delete(page.filter(({ hash }) => !used.has(hash)));
      const { reference: _, ...place } = last;
      after = place;
      const kept = { value: place, keepMs: CHECKED_KEPT_MS, answer: undefined };
      await store.sharedState.change(CHECKED_REFERENCES, () => kept);
      return true;
    });
  }

  /** The hashes of submitted transactions, and of those that the log has events of. */
  async function usedHashes(hashes: string[]): Promise<Set<string>> {
    const used = new Set((await store.transactions.find(hashes)).map(({ hash }) => hash));
    await Promise.all(
      hashes.filter((hash) => !used.has(hash)).map(async (txHash) => {
        const found = await store.events.read({ filter: { txHash }, order: "asc", limit: 1 });
        if (found.length > 0) used.add(txHash);
      }),
    );
    return used;
  }

  async function forgetAll(signal: AbortSignal): Promise<void> {
    await repeat(signal, () => store.subscriptions.purgeDeleted());
    const nowMs = await networkNow();
    if (nowMs === undefined) return;
    await forgetUnused(signal, nowMs - LONGEST_LIFE_MS);
    await repeat(signal, async () => await store.sharedState.prune(nowMs) > 0);
    await repeat(signal, async () => await store.submissions.prune(nowMs - SUBMISSION_DAYS * DAY_MS) > 0);
    await repeat(signal, async () => await store.intents.prune(nowMs - INTENT_DAYS * DAY_MS) > 0);
    if (attemptDays > 0) await forgetAttempts(signal, nowMs - attemptDays * DAY_MS);
    if (historyDays === 0) return;
    const keptFromMs = nowMs - historyDays * DAY_MS;
    await repeat(signal, async () => await store.payments.forget(Math.floor(keptFromMs / 1_000)) > 0);
    await forgetEvents(signal, isoSeconds(keptFromMs));
    await repeat(signal, async () => await store.references.prune(keptFromMs - LONGEST_LIFE_MS) > 0);
    await repeat(signal, async () => await store.transactions.prune(keptFromMs) > 0);
  }

  return async function forget(signal) {
    const lease = await store.leases.acquire({ name: "retention", holder, durationMs: LEASE_MS });
    if (lease === undefined) return;
    let isDone = false;
    try {
      await forgetAll(signal);
      isDone = !signal.aborted;
    } finally {
      if (!isDone) await store.leases.release([lease]);
    }
  };
}

import { setImmediate as yieldToOthers } from "node:timers/promises";
import type { Clock } from "../../clock.ts";
import type { LoggedEvent } from "../../store/event.ts";
import type { Lease, Store } from "../../store/store.ts";
import { filterOf, partitionOf, PARTITIONS, type Reader } from "../../store/webhook.ts";
import { createMatcher } from "./matching.ts";
import type { Partitions } from "./partitions.ts";
import { type DeliveryReader, isKeptKnown, openReader, openReplay } from "./reader.ts";
import { REFRESH_MS } from "./vetting.ts";

/** The readers of the subscriptions in one's own partitions: who listens. */
export interface Readers {
  all(): Iterable<DeliveryReader>;
  isEmpty(): boolean;
  /** Those that have something to do, or to wait for. */
  readonly active: Set<DeliveryReader>;
  /** Whether those that were there at the last look are taken in. */
  isLoaded(): boolean;
  /** Takes in those that were made or changed, and closes those that are gone or another's. */
  load(): Promise<void>;
  /** Partitions have changed hands: all are looked at by the next `load`. */
  toBeLoaded(): void;
  /** The same, unless that was done a moment ago: what is vetted from now on is as it was then. */
  refresh(): Promise<void>;
  /** Takes in one alone; undefined: it is gone or another's. */
  look(subscriptionId: string): Promise<DeliveryReader | undefined>;
  matching(event: LoggedEvent): Iterable<DeliveryReader>;
  /** Who had its lease lost and acquired again knows nothing of what others did with it meanwhile: it is not one's own. */
  isOwn(reader: DeliveryReader): boolean;
  /** Closes one that is gone, or of which too much is known; it is opened again, as the store has it, if it is there. */
  close(reader: DeliveryReader): void;
  /** Others deliver now to what was fenced off: they begin where the last commit stands. */
  closeLost(): Promise<void>;
  /** All begin again where the store says that they stand. */
  closeAll(): void;
  /** Whatever a clock has done: nothing is due further ahead than this, Unix ms. */
  bringBackDue(latestDueAtMs: number): Promise<void>;
  /** Of a replay whose end is written down. */
  forgetReplay(reader: DeliveryReader): void;
}

const PAGE = 500;

export function createReaders({ store, partitions, clock, latestDueAtMs }: {
  store: Pick<Store, "deliveries" | "subscriptions">;
  partitions: Partitions;
  clock: Clock;
  /** As in `DueTimes`. */
  latestDueAtMs: () => number;
}): Readers {
  const readers = new Map<string, DeliveryReader>();
  const active = new Set<DeliveryReader>();
  /** What was read before a replay's end was written down does not begin it again. */
  const finishedReplays = new Set<string>();
  let matcher = createMatcher<DeliveryReader>();
  /** The version of subscriptions that was loaded; undefined: to be loaded again. */
  let seenVersion: number | undefined;
  /** What is loaded is as it was then, or later; monotonic ms. */
  let loadedAt = -Infinity;
  /** One load after the other, and the next one that was asked for by `refresh`. */
  let lastLoad: Promise<void> = Promise.resolve();
  let nextRefresh: Promise<void> | undefined;
  /** How often all were looked at, and who was looked at alone since the last time began: that is newer. */
  let loads = 0;
  const lookedAt = new Set<string>();
  /** Partitions have changed hands, or one was taken in that was read before a look at all began: it may be gone since. */
  let isInDoubt = false;

  function load(): Promise<void> {
    const loaded = lastLoad.then(loadNow);
    lastLoad = loaded.catch(() => {});
    return loaded;
  }

  async function loadNow(): Promise<void> {
    nextRefresh = undefined;
    const beganAt = clock.monotonicMs();
    // Whatever the store fails on is loaded again: who was not taken in, or is not in the matcher, would hear nothing.
    if (isInDoubt) seenVersion = undefined;
    isInDoubt = false;
    loads++;
    lookedAt.clear();
    // A replay that is found from here on has not ended, or a database has lost its end.
    finishedReplays.clear();
    const version = await store.subscriptions.version();
    if (version !== seenVersion) {
      seenVersion = undefined;
      const there = await takeInAll();
      for (const [id, reader] of readers) {
        if (!(there.has(id) || lookedAt.has(id)) || !isOwn(reader)) close(reader);
      }
      matcher = createMatcher();
      for (const reader of readers.values()) matcher.add(reader.filter, reader);
      seenVersion = version;
    }
    loadedAt = beganAt;
  }

  async function takeInAll(): Promise<Set<string>> {
    const there = new Set<string>();
    let after: string | undefined;
    while (true) {
      const leases = leasesNow();
      const page = await store.deliveries.readers({ after, limit: PAGE });
      for (const reader of page) {
        there.add(reader.subscription.id);
        if (!lookedAt.has(reader.subscription.id)) await takeIn(reader, leases);
      }
      if (page.length < PAGE) return there;
      after = page.at(-1)!.subscription.id;
      await yieldToOthers();
    }
  }

  const leasesNow = () => Array.from({ length: PARTITIONS }, (_, partition) => partitions.lease(partition));

  /** @param leases as they were before it was read */
  async function takeIn(found: Reader, leases: (Lease | undefined)[]): Promise<void> {
    const { subscription, progress } = found;
    const partition = partitionOf(subscription.id);
    // One that is not trusted for now may be again, without another change.
    const lease = partitions.lease(partition);
    // It changed hands: whoever had it before may have gone on since, and all are looked at anyway.
    if (lease === undefined || lease !== leases[partition]) return;
    const replay = found.replay !== null && finishedReplays.has(found.replay.id) ? null : found.replay;
    const known = readers.get(subscription.id);
    if (known !== undefined && !isOwn(known)) close(known);
    else if (known !== undefined) {
      known.subscription = subscription;
      known.filter = filterOf(subscription);
      known.recipient = undefined;
      // Whoever it belonged to before has brought that back: a step of the clock that nobody has seen here.
      if ((progress.nextDueAtMs ?? Infinity) < (known.nextDueAtMs ?? Infinity)) known.keptChanges++;
      if (replay !== null && replay.id !== known.replay?.id) {
        // The end of the one before it is in the store already: there is one at a time.
        if (known.replay !== undefined) finishedReplays.add(known.replay.id);
        known.replay = openReplay(subscription, replay);
      }
      active.add(known);
      return;
    }
    const reader = openReader({ subscription, progress, replay }, partition, lease);
    // Before it is taken in: from then on the log goes on for it, which has to be handed to it.
    if (progress.nextDueAtMs !== null) await bringBack(reader, latestDueAtMs());
    if (readers.has(subscription.id)) return;
    readers.set(subscription.id, reader);
    active.add(reader);
    matcher.add(reader.filter, reader);
  }

  async function look(subscriptionId: string): Promise<DeliveryReader | undefined> {
    const loadsBefore = loads;
    const leases = leasesNow();
    const found = await store.deliveries.reader(subscriptionId);
    if (loads !== loadsBefore) {
      // Who looks at all since sees what it was looked at for, and may have seen what is newer.
      await load();
      return readers.get(subscriptionId);
    }
    if (found !== undefined) await takeIn(found, leases);
    lookedAt.add(subscriptionId);
    if (loads !== loadsBefore) isInDoubt = true;
    const reader = readers.get(subscriptionId);
    if (reader === undefined) return undefined;
    if (found === undefined) return void close(reader);
    return reader;
  }

  const isOwn = ({ partition, lease }: DeliveryReader) => partitions.lease(partition) === lease;

  function close(reader: DeliveryReader): void {
    reader.isClosed = true;
    active.delete(reader);
    if (readers.get(reader.subscription.id) === reader) readers.delete(reader.subscription.id);
  }

  async function bringBack(reader: DeliveryReader, latestDueAtMs: number): Promise<void> {
    await store.deliveries.clampDue(reader.subscription.id, latestDueAtMs);
    reader.nextDueAtMs = Math.min(reader.nextDueAtMs ?? latestDueAtMs, latestDueAtMs);
    // What is being read of it may be of before.
    reader.keptChanges++;
  }

  return {
    all: () => readers.values(),
    isEmpty: () => readers.size === 0,
    active,
    isLoaded: () => seenVersion !== undefined,
    load,
    toBeLoaded: () => void (isInDoubt = true),
    async refresh() {
      if (clock.monotonicMs() - loadedAt >= REFRESH_MS) await (nextRefresh ??= load());
    },
    look,
    matching: (event) => matcher.matching(event),
    isOwn,
    close(reader) {
      close(reader);
      isInDoubt = true;
    },
    async closeLost() {
      await partitions.recheck();
      for (const reader of [...readers.values()]) if (!isOwn(reader)) close(reader);
      seenVersion = undefined;
    },
    closeAll() {
      for (const reader of [...readers.values()]) close(reader);
      seenVersion = undefined;
      // Those that are being read now are of before.
      isInDoubt = true;
    },
    async bringBackDue(latestDueAtMs) {
      for (const reader of active) {
        if (reader.nextDueAtMs !== null || !isKeptKnown(reader)) await bringBack(reader, latestDueAtMs);
      }
    },
    forgetReplay(reader) {
      const { replay } = reader;
      // Of one that was fenced off the end is not written.
      if (!replay?.isEndGiven || reader.isClosed) return;
      finishedReplays.add(replay.id);
      reader.replay = undefined;
    },
  };
}

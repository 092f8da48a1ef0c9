import assert from "node:assert/strict";
import type { Clock } from "../../lib/clock.ts";
import type { NewEvent } from "../../lib/store/event.ts";
import { openStore } from "../../lib/store/open.ts";
import { type Store, WATCHER_LEASE, type WatcherState } from "../../lib/store/store.ts";
import type { Subscription } from "../../lib/store/webhook.ts";
import { type Backlog, backlogOf } from "../../lib/webhooks/backlog.ts";
import type { Attempter } from "../../lib/webhooks/delivery/attempt.ts";
import { bentStore } from "../store/bent_store.ts";
import { createSubscriptions } from "../../lib/webhooks/subscriptions.ts";
import { createSecretCipher } from "../../lib/webhooks/secrets/secrets.ts";

export const START_MS = Date.parse("2026-01-01T00:00:00Z");
export const DEVICE = "ab".repeat(32);

/** The `n`-th event of a ledger, as the watcher appends it. */
export function eventAt(ledger: number, n = 1, fields: Partial<NewEvent> = {}): NewEvent {
  return {
    id: `${String(BigInt(ledger) << 32n).padStart(19, "0")}-${String(n).padStart(10, "0")}`,
    type: "escrow.funded",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "cd".repeat(32),
    deviceHash: DEVICE,
    amount: "1",
    knownAt: START_MS / 1_000,
    ...fields,
  };
}

/** A webhook that gets all events after ledger 100. */
export function subscriptionOf(id: string, fields: Partial<Subscription> = {}): Subscription {
  return {
    id,
    keyId: "key1",
    url: `https://${id.replaceAll("_", "-")}.example/hook`,
    types: null,
    deviceHash: null,
    merchant: null,
    ordered: false,
    secret: `whsec_${btoa("0123456789abcdef0123456789abcdef")}`,
    previousSecret: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    startHeight: 101,
    ...fields,
  };
}

/** The secret that `subscriptionsOn` makes. */
export const NEW_SECRET = `whsec_${btoa("fedcba9876543210fedcba9876543210")}`;

export async function insert(store: Store, ...subscriptions: Subscription[]): Promise<void> {
  for (const subscription of subscriptions) await store.subscriptions.insert(subscription, 1_000_000);
}

/** Appends these events, as a watcher that has scanned up to this ledger, which closed then (Unix ms). */
export async function append(
  store: Store,
  events: NewEvent[],
  scannedLedger: number,
  closedAtMs = START_MS,
): Promise<void> {
  const lease = (await store.leases.acquire({ name: WATCHER_LEASE, holder: "test", durationMs: 60_000 }))!;
  const state: WatcherState = {
    epoch: 0,
    latestLedger: scannedLedger,
    latestLedgerCloseTime: closedAtMs / 1_000,
    scannedLedger,
    settledLedger: 0,
    rescans: [],
    checkpoints: [],
    formerCheckpoints: [],
    contracts: {},
    gaps: [],
    formerEpochs: [],
  };
  for (let from = 0; from === 0 || from < events.length; from += 100) {
    await store.events.append({ lease, events: events.slice(from, from + 100), state });
  }
}

/** The pending and failed deliveries of a subscription. */
export async function owedTo(store: Store, subscriptionId: string): Promise<Backlog> {
  const reader = await store.deliveries.consumer(subscriptionId);
  return await backlogOf(store, reader!, (await store.events.bounds()).last);
}

type Noun = "events" | "deliveries" | "leases" | "subscriptions";
type Bent<Method> = Method extends (...args: infer Args) => infer Answer ? (real: Method, ...args: Args) => Answer
  : never;

/** Bends a store: one method of one noun is this, which is given the real one before the arguments. */
export function bending<N extends Noun, M extends keyof Store[N] & string>(noun: N, method: M, by: Bent<Store[N][M]>) {
  return (store: Store): Store => {
    const whole = store[noun] as unknown as Record<string, (...args: unknown[]) => unknown>;
    const real = (...args: unknown[]) => whole[method]!(...args);
    return bentStore(store, { [noun]: { [method]: (by as typeof real).bind(undefined, real) } });
  };
}

/** The ids of the first events of these ledgers. */
export const idsAt = (...ledgers: number[]) => ledgers.map((ledger) => eventAt(ledger).id);

/** The ids of the first events of so many ledgers, from this one on. */
export const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, n) => eventAt(first + n).id);

export async function memoryStore(): Promise<Store> {
  return await openStore("memory:");
}

/** A store of which one method of one noun fails when `shouldFail` says so. */
export function failingStore<N extends "events" | "deliveries" | "leases" | "subscriptions">(
  store: Store,
  noun: N,
  method: keyof Store[N],
  shouldFail: () => boolean,
): Store {
  // deno-lint-ignore no-explicit-any -- any method, with its own arguments
  const whole = store[noun] as any;
  const failing = Object.create(whole, {
    [method]: {
      value: (...args: unknown[]) =>
        shouldFail() ? Promise.reject(new Error("the store fails")) : whole[method].apply(whole, args),
    },
  });
  return Object.create(store, { [noun]: { value: failing } });
}

export interface Posted {
  subscriptionId: string;
  eventId: string;
  /** Attempts of this delivery before, and this one. */
  attempt: number;
  kind: "delivery" | "probe" | "test";
  replayId: string | null;
  /** How long it has been owed. */
  ageMs: number;
  atMs: number;
}

/** An endpoint's answer to an attempt; a promise keeps the post in flight. */
export type Answer = Outcome | Promise<Outcome>;
type Outcome = "delivered" | "retry" | "rejected" | "dead";

/** Replaces the network: answers for each endpoint, and records the posts. */
export function scriptedAttempts(
  { now }: Pick<Clock, "now">,
  answer: (post: Posted) => Answer,
  retryMs: number | (() => number) = 5_000,
): { attempt: Attempter; posted: Posted[]; inFlight(): number; mostInFlight(): number } {
  const posted: Posted[] = [];
  let inFlight = 0;
  let most = 0;
  return {
    posted,
    inFlight: () => inFlight,
    mostInFlight: () => most,
    async attempt({ recipient, message, attempts, kind, replayId, ageMs, atMs = now() }, signal) {
      const startedMs = now();
      const attempt = attempts + 1;
      const post = { subscriptionId: recipient.id, eventId: message.id, attempt, kind, replayId, ageMs, atMs };
      posted.push(post);
      most = Math.max(most, ++inFlight);
      const cut = new Promise<"retry">((resolve) => signal?.addEventListener("abort", () => resolve("retry")));
      const outcome = await Promise.race([answer(post), cut]);
      inFlight--;
      const durationMs = Math.max(0, now() - startedMs);
      const delayMs = typeof retryMs === "number" ? retryMs : retryMs();
      return {
        replayId,
        eventId: message.id,
        eventType: message.type,
        number: kind === "delivery" ? attempt : 0,
        atMs,
        durationMs,
        outcome,
        statusCode: outcome === "delivered" ? 200 : 500,
        error: outcome === "delivered" ? null : "scripted",
        responseBody: null,
        nextAttemptAtMs: outcome === "retry" ? now() + delayMs : null,
      };
    },
  };
}

/** The webhooks of a store, on a stopped clock; parts that a test leaves out succeed, and nothing is posted. */
export function subscriptionsOn(store: Store, parts: Partial<Parameters<typeof createSubscriptions>[0]> = {}) {
  let ids = 0;
  return createSubscriptions({
    store,
    targets: { check: () => Promise.resolve() } as never,
    secrets: createSecretCipher(undefined),
    attempt: () => assert.fail("nothing is posted"),
    createSecret: () => NEW_SECRET,
    randomText: (length) => String(++ids).padStart(length, "0"),
    isKeyThere: () => Promise.resolve(true),
    startHeight: () => Promise.resolve(101),
    clock: { now: () => START_MS, monotonicMs: () => START_MS, wait: () => Promise.resolve() },
    onChange: () => Promise.resolve(),
    ...parts,
  });
}

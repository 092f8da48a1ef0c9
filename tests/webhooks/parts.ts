import { endOfLedger, positionOf } from "../../lib/events/position.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store, StoredEvent } from "../../lib/store/store.ts";
import type { Delivery, Subscription } from "../../lib/store/webhook_store.ts";
import type { Attempter } from "../../lib/webhooks/delivery/attempt.ts";

export const START_MS = Date.parse("2026-01-01T00:00:00Z");
export const DEVICE = "ab".repeat(32);

/** The `n`-th event of a ledger, as the watcher keeps it. */
export function eventAt(ledger: number, n = 1, fields: Partial<StoredEvent> = {}): StoredEvent {
  const rpcId = `${String(BigInt(ledger) << 32n).padStart(19, "0")}-${String(n).padStart(10, "0")}`;
  return {
    position: positionOf(0, rpcId),
    id: rpcId,
    type: "escrow.funded",
    contractId: "CA5S4S7QGHJHJWVJBYL3CXZXZTNGKXMNZVDAEQNN7NUXFP4D7BYK7HIX",
    ledger,
    ledgerClosedAt: "2026-01-01T00:00:00Z",
    txHash: "cd".repeat(32),
    deviceHash: DEVICE,
    amount: "1",
    ...fields,
  };
}

export function subscriptionOf(id: string, fields: Partial<Subscription> = {}): Subscription {
  return {
    id,
    keyId: "key1",
    url: `https://${id.replaceAll("_", "-")}.example/hook`,
    types: null,
    deviceHash: null,
    merchant: null,
    secret: `whsec_${btoa("0123456789abcdef0123456789abcdef")}`,
    previousSecret: null,
    createdAt: "2026-01-01T00:00:00.000Z",
    startPosition: endOfLedger(0, 100),
    ...fields,
  };
}

export async function insert(store: Store, ...subscriptions: Subscription[]): Promise<void> {
  for (const subscription of subscriptions) await store.subscriptions.insert(subscription, 1_000_000);
}

/** Commits these events, ascending, as a watcher that has scanned up to this ledger. */
export async function commitEvents(store: Store, events: StoredEvent[], scannedLedger: number): Promise<void> {
  const state = {
    epoch: 0,
    contractIds: "",
    oldestLedger: 1,
    scannedLedger,
    latestLedger: scannedLedger,
    latestLedgerCloseTime: 0,
  };
  for (let from = 0; from === 0 || from < events.length; from += 100) {
    await store.commitEvents({ events: events.slice(from, from + 100), state });
  }
}

/** Every delivery that is pending for a subscription, in the order they are due. */
export async function pendingOf(store: Store, subscriptionId: string): Promise<Delivery[]> {
  const due = await store.dueDeliveries({ subscriptionId, nowMs: Number.MAX_SAFE_INTEGER, limit: 200 });
  return due.map(({ delivery }) => delivery);
}

export async function memoryStore(): Promise<Store> {
  return await openStore("memory:");
}

/** A store whose method fails when `shouldFail` says so. */
export function failingStore<M extends keyof Store>(store: Store, method: M, shouldFail: () => boolean): Store {
  return Object.create(store, {
    [method]: {
      value: (...args: unknown[]) =>
        shouldFail()
          ? Promise.reject(new Error("the store fails"))
          // deno-lint-ignore no-explicit-any -- any method, with its own arguments
          : (store[method] as any).apply(store, args),
    },
  });
}

export interface Posted {
  subscriptionId: string;
  eventId: string;
  attempt: number;
  atMs: number;
}

/** What an endpoint does with an attempt; a promise keeps the post under way. */
export type Answer = "delivered" | "retry" | "ended" | Promise<"delivered" | "retry" | "ended">;

/** Stands in for the network: says what each endpoint answers and notes what was posted. */
export function scriptedAttempts(
  now: () => number,
  answer: (post: Posted) => Answer,
  retryMs = 5_000,
): { attempt: Attempter; posted: Posted[]; inFlight(): number; mostInFlight(): number } {
  const posted: Posted[] = [];
  let inFlight = 0;
  let most = 0;
  let count = 0;
  return {
    posted,
    inFlight: () => inFlight,
    mostInFlight: () => most,
    async attempt({ recipient, delivery, message }, signal) {
      const atMs = now();
      const post = {
        subscriptionId: recipient.id,
        eventId: message.id,
        attempt: (delivery?.attempts ?? 0) + 1,
        atMs,
      };
      posted.push(post);
      most = Math.max(most, ++inFlight);
      const cut = new Promise<"retry">((resolve) => signal?.addEventListener("abort", () => resolve("retry")));
      const outcome = await Promise.race([answer(post), cut]);
      inFlight--;
      return {
        id: `${String(atMs).padStart(15, "0")}-${String(count++).padStart(8, "0")}`,
        subscriptionId: recipient.id,
        deliveryId: delivery?.id ?? null,
        eventId: message.id,
        eventType: message.type,
        number: post.attempt,
        atMs,
        durationMs: now() - atMs,
        outcome,
        statusCode: outcome === "delivered" ? 200 : 500,
        error: outcome === "delivered" ? null : "scripted",
        responseBody: null,
        nextAttemptAtMs: outcome === "retry" ? now() + retryMs : null,
      };
    },
  };
}

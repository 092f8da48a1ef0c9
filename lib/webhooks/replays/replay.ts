import { setImmediate as othersTurn } from "node:timers/promises";
import { GatewayError } from "../../errors.ts";
import { type Store, StoreError } from "../../store/store.ts";
import type { Replay, Subscription } from "../../store/webhook_store.ts";

export interface ReplayRequest {
  /** Inclusive, in the current life of the network. */
  fromLedger: number;
  /** Inclusive; absent: all that is held. */
  toLedger?: number;
}

/** What a replay would do. */
export interface ReplayPlan {
  afterPosition: string;
  upToPosition: string;
  /** How many of the events held in these ledgers the subscription's filter lets through. */
  deliveries: number;
  /** Whether all of these ledgers are held; else the replay waits for the rest, and what they hold comes on top. */
  isHeld: boolean;
}

export interface PlanParts {
  store: Pick<Store, "watcherState" | "readEvents">;
  endOfLedger(epoch: number, ledger: number): string;
  /** Told how many events have been counted so far. */
  onCounted?(events: number): void;
}

const PAGE_EVENTS = 1_000;
/** Ledgers are signed 32-bit in a position (SEP-35); later ones would not sort as text. */
const MAX_LEDGER = 0x7fff_ffff;

/**
 * Counts what a replay of these ledgers would send.
 * @throws {GatewayError} `invalid_request` when the ledgers are no range
 */
export async function planReplay(
  { store, endOfLedger, onCounted }: PlanParts,
  subscription: Subscription,
  { fromLedger, toLedger }: ReplayRequest,
): Promise<ReplayPlan> {
  if (toLedger !== undefined && toLedger < fromLedger) {
    throw new GatewayError("invalid_request", `toLedger must not be before fromLedger ${fromLedger}, got ${toLedger}`);
  }
  const state = await store.watcherState();
  const scanned = state?.scannedLedger ?? 0;
  const epoch = state?.epoch ?? 0;
  const heldUpTo = endOfLedger(epoch, scanned);
  // What lies beyond is not of the past: a subscription hears it by itself. But where the watcher is behind, it hears
  // only what is beyond the ledger of its creation.
  const pastUpTo = heldUpTo > subscription.startPosition ? heldUpTo : subscription.startPosition;
  const inPast = (ledger: number) => earlier(endOfLedger(epoch, Math.min(ledger, MAX_LEDGER)), pastUpTo);
  const afterPosition = inPast(fromLedger - 1);
  const upToPosition = toLedger === undefined ? pastUpTo : inPast(toLedger);
  let deliveries = 0;
  for (let after = afterPosition; after < upToPosition;) {
    const events = await store.readEvents({
      after,
      upTo: upToPosition,
      limit: PAGE_EVENTS,
      ...filterQuery(subscription),
    });
    deliveries += events.length;
    if (events.length < PAGE_EVENTS) break;
    after = events.at(-1)!.position;
    onCounted?.(deliveries);
    await othersTurn();
  }
  return { afterPosition, upToPosition, deliveries, isHeld: upToPosition <= heldUpTo };
}

/** The earlier of two positions. */
export function earlier(one: string, other: string): string {
  return one < other ? one : other;
}

/**
 * Begins the replay that was planned: a job that the serving gateway works off, also after a restart.
 * @throws {GatewayError} `invalid_request` while the subscription has another one
 */
export async function beginReplay(
  store: Pick<Store, "insertReplay">,
  subscriptionId: string,
  { isHeld, ...range }: ReplayPlan,
  { id, nowMs }: { id: string; nowMs: number },
): Promise<Replay> {
  const replay: Replay = { id, subscriptionId, ...range, position: range.afterPosition, createdAtMs: nowMs };
  // With nothing to send there is nothing to begin.
  if (range.deliveries === 0 && isHeld) return replay;
  try {
    await store.insertReplay(replay);
  } catch (error) {
    if (!(error instanceof StoreError) || error.kind !== "exists") throw error;
    throw new GatewayError("invalid_request", `a replay of ${subscriptionId} is under way: wait until it has ended`);
  }
  return replay;
}

/** A subscription's filter as a query of the history. */
export function filterQuery(
  { types, deviceHash, merchant }: Pick<Subscription, "types" | "deviceHash" | "merchant">,
): { types?: string[]; deviceHash?: string; merchant?: string } {
  return {
    ...(types === null ? {} : { types }),
    ...(deviceHash === null ? {} : { deviceHash }),
    ...(merchant === null ? {} : { merchant }),
  };
}

import { GatewayError } from "../errors.ts";
import { MAX_LEDGER } from "../ledger_numbers.ts";
import type { IntentClaim } from "../store/intent.ts";
import { heightOf, heightOfEvent, matches, MAX_COUNTED } from "../store/event.ts";
import { type Store, StoreError } from "../store/store.ts";
import { filterOf, type Replay, type Subscription } from "../store/webhook.ts";

export interface ReplayRequest {
  /** Inclusive, in the current life of the network. */
  fromLedger: number;
  /** Inclusive; absent: all that is past. */
  toLedger?: number;
}

/** What a replay would do. */
export type ReplayPlan =
  & Pick<Replay, "fromHeight" | "toHeight" | "cursor" | "endSequence" | "deliveries" | "atLeast">
  & {
    /** How many events it reads at most to find those, as far as is known yet. */
    lookedThrough: number;
  };

/**
 * Works out what a replay of these ledgers would send: of what is past, for the rest the subscription hears by itself. The
 * time it takes does not grow with the history.
 * @throws {GatewayError} `invalid_request` when the ledgers are no range
 */
export async function planReplay(
  { events }: Pick<Store, "events">,
  subscription: Subscription,
  { fromLedger, toLedger }: ReplayRequest,
): Promise<ReplayPlan> {
  if (toLedger !== undefined && toLedger < fromLedger) {
    throw new GatewayError("invalid_request", `toLedger must not be before fromLedger ${fromLedger}, got ${toLedger}`, {
      param: "toLedger",
    });
  }
  const state = await events.watcherState();
  // Afterwards: what the watcher has scanned by then is in the log.
  const { last } = await events.bounds();
  const epoch = state?.epoch ?? 0;
  const scanned = heightOf(epoch, state?.scannedLedger ?? 0);
  // Where the watcher is behind, a subscription hears only what is beyond the ledger of its creation: the rest is waited for.
  const lastWanted = heightOf(epoch, toLedger ?? MAX_LEDGER);
  const unheard = subscription.startHeight - 1;
  const isHeld = Math.min(lastWanted, unheard) <= scanned;
  const fromHeight = heightOf(epoch, fromLedger);
  const toHeight = isHeld ? lastWanted : Math.min(lastWanted, Math.max(unheard, await newestHeight(events, last)));
  const cursor = await events.before(fromHeight);
  const filter = { ...filterOf(subscription), fromHeight, toHeight };
  const deliveries = fromHeight > toHeight
    ? 0
    : await events.count({ filter, after: cursor, upTo: last, limit: MAX_COUNTED });
  return {
    fromHeight,
    toHeight,
    cursor,
    endSequence: isHeld ? last : null,
    deliveries,
    atLeast: deliveries === MAX_COUNTED,
    lookedThrough: deliveries < MAX_COUNTED ? deliveries : last - cursor,
  };
}

/** How high the log has come, which may hold a part only of its last ledger. 0: it holds nothing. */
async function newestHeight(events: Store["events"], last: number): Promise<number> {
  const [newest] = await events.read({ filter: {}, upTo: last, order: "desc", limit: 1 });
  return newest === undefined ? 0 : heightOfEvent(newest);
}

/**
 * Works out how one event is sent again: as a replay of nothing else.
 * @throws {GatewayError} `invalid_request` when there is no such event, or the subscription does not hear it
 */
export async function planResend(
  { events }: Pick<Store, "events">,
  subscription: Subscription,
  eventId: string,
): Promise<ReplayPlan> {
  const event = await events.get(eventId);
  const refuse = (why: string) =>
    new GatewayError("invalid_request", `eventId ${eventId} ${why}`, { param: "eventId" });
  if (event === undefined) throw refuse("is no event of the history that is held");
  const height = heightOfEvent(event);
  const range = { fromHeight: height, toHeight: height };
  if (!matches({ ...filterOf(subscription), ...range }, event)) {
    throw refuse(`is a ${event.type} that ${subscription.id} does not hear`);
  }
  const place = { cursor: event.sequence - 1, endSequence: event.sequence };
  return { ...range, ...place, deliveries: 1, atLeast: false, lookedThrough: 1 };
}

/**
 * Begins the replay that was planned: a job that the serving gateway works off, also after a restart.
 * @throws {GatewayError} `invalid_request` while the subscription has another one, `not_found` when it is gone
 * @throws {StoreError} `fenced` when another has claimed the intent since
 */
export async function beginReplay(
  { deliveries }: Pick<Store, "deliveries">,
  subscriptionId: string,
  { lookedThrough: _counted, ...plan }: ReplayPlan,
  { id, nowMs, claim }: { id: string; nowMs: number; claim?: IntentClaim },
): Promise<Replay> {
  const replay: Replay = { id, subscriptionId, ...plan, createdAtMs: nowMs };
  // With nothing to send there is nothing to begin.
  if (plan.deliveries === 0 && plan.endSequence !== null) return replay;
  let isThere;
  try {
    isThere = await deliveries.insertReplay(replay, claim);
  } catch (error) {
    // The answer alone may be lost: who is told of a failure begins another.
    const consumer = await deliveries.consumer(subscriptionId).catch(() => undefined);
    if (consumer?.replay?.id === id) return replay;
    if (!(error instanceof StoreError) || error.kind !== "exists") throw error;
    throw new GatewayError("invalid_request", `a replay of ${subscriptionId} is under way: wait until it has ended`, {
      retry: "same",
    });
  }
  if (!isThere) throw new GatewayError("not_found", `the webhook ${subscriptionId} was deleted meanwhile`);
  return replay;
}

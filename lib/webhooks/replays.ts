import { GatewayError } from "../errors.ts";
import { MAX_LEDGER } from "../ledger_numbers.ts";
import { IntentRefused, type NewIntent } from "../store/intent.ts";
import { heightOf, heightOfEvent, matches, MAX_COUNTED } from "../store/event.ts";
import { type Store, StoreError } from "../store/store.ts";
import { filterOf, type Replay, type Subscription } from "../store/webhook.ts";

export interface ReplayRequest {
  /** Inclusive, in the current epoch. */
  fromLedger: number;
  /** Inclusive; all past ledgers when absent. */
  toLedger?: number;
}

/** The plan of a replay. */
export type ReplayPlan =
  & Pick<Replay, "fromHeight" | "toHeight" | "cursor" | "endSequence" | "deliveries" | "atLeast">
  & {
    /** How many events it reads at most, as far as known. */
    lookedThrough: number;
  };

/**
 * Plans a replay of these ledgers, up to the present: the subscription receives later events anyway. The time does not
 * grow with the history.
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
  // After the state: the log has all that the watcher had scanned by then.
  const { last } = await events.bounds();
  const epoch = state?.epoch ?? 0;
  const scanned = heightOf(epoch, state?.scannedLedger ?? 0);
  // A watcher that lags has not read all ledgers before the subscription's start: the replay waits for the rest.
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

/** The height of the newest event, whose ledger may be incomplete. 0 for an empty log. */
async function newestHeight(events: Store["events"], last: number): Promise<number> {
  const [newest] = await events.read({ filter: {}, withOwn: true, upTo: last, order: "desc", limit: 1 });
  return newest === undefined ? 0 : heightOfEvent(newest);
}

/**
 * Plans the resend of one event, as a replay of it alone.
 * @throws {GatewayError} `invalid_request` when there is no such event, or the subscription's filter excludes it
 */
export async function planResend(
  { events }: Pick<Store, "events">,
  subscription: Subscription,
  eventId: string,
): Promise<ReplayPlan> {
  const event = await events.get(eventId);
  const refuse = (why: string) =>
    new GatewayError("invalid_request", `eventId ${eventId} ${why}`, { param: "eventId" });
  if (event === undefined) throw refuse("must be an event of the stored history");
  const height = heightOfEvent(event);
  const range = { fromHeight: height, toHeight: height };
  if (!matches({ ...filterOf(subscription), ...range }, event)) {
    throw refuse(`is a ${event.type}, which the filter of ${subscription.id} excludes`);
  }
  const place = { cursor: event.sequence - 1, endSequence: event.sequence };
  return { ...range, ...place, deliveries: 1, atLeast: false, lookedThrough: 1 };
}

/**
 * Starts a planned replay: a job that the serving gateway runs, also after a restart.
 * @throws {GatewayError} `invalid_request` while the subscription has another one, `not_found` when it is deleted
 * @throws {IntentRefused} when the intent exists already, or there are too many
 */
export async function beginReplay(
  { deliveries, intents }: Pick<Store, "deliveries" | "intents">,
  subscriptionId: string,
  { lookedThrough: _counted, ...plan }: ReplayPlan,
  { id, nowMs, intent }: { id: string; nowMs: number; intent?: NewIntent },
): Promise<Replay> {
  const replay: Replay = { id, subscriptionId, ...plan, createdAtMs: nowMs };
  // Nothing to send.
  if (plan.deliveries === 0 && plan.endSequence !== null) {
    if (intent !== undefined) IntentRefused.check(await intents.set({ ...intent, seen: undefined }));
    return replay;
  }
  let verdict;
  try {
    verdict = await deliveries.insertReplay(replay, intent);
  } catch (error) {
    // Only the answer may be lost, and after an error the client would start another replay.
    const consumer = await deliveries.consumer(subscriptionId).catch(() => undefined);
    if (consumer?.replay?.id === id) return replay;
    if (!(error instanceof StoreError) || error.kind !== "exists") throw error;
    throw isUnderWay(subscriptionId);
  }
  if (verdict === "missing") throw new GatewayError("not_found", `the webhook ${subscriptionId} was deleted meanwhile`);
  IntentRefused.check(verdict);
  return replay;
}

export function isUnderWay(subscriptionId: string): GatewayError {
  const message = `a replay of ${subscriptionId} is under way; wait until it has ended`;
  return new GatewayError("invalid_request", message, { retry: "same" });
}

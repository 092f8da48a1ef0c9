import { type LoggedEvent, matches } from "../../lib/store/event.ts";
import { LONGEST_DELAY_MS } from "../../lib/retry_schedule.ts";
import { type DueDelivery, FAILED_STATES, filterOf, type StoredConsumer } from "../../lib/store/webhook.ts";
import { type Client, HEED_MS } from "./client.ts";
import type { Hook, TakenReplay } from "./people.ts";
import type { Heard } from "./receivers.ts";
import type { Site } from "./site.ts";

/** How long a webhook that is gone may still be heard of, whatever the store suffers. */
const GONE_MS = 60_000;
/** What is due is tried by then: all has been well for longer. */
const OVERDUE_MS = 60_000;
/** Who cannot take what is due again is sent it one by one, with breaks, in turns with what is new. */
const TURN_MS = 10_000;
const DAY_MS = 86_400_000;
/** After so many seconds the next attempt comes, as users are told; written here again, so that no slip of the pen shifts it. */
const TOLD_SECONDS = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 21_600, 36_000, 43_200, 43_200, 43_200, 43_200];
/** The longest `Retry-After` of these receivers, a tenth of spread, and what a gateway may be wrong about the store's time. */
const MOST_ASKED_SECONDS = 132;
const WRONG_MS = 30_000;
/** The store answers no more at once. */
const MOST_OF_KEPT = 200;

/** Each matching event was delivered, or is visibly retrying, rejected or dead; no more than that was heard. */
export async function checkDeliveries(
  site: Site,
  clients: Client[],
  log: LoggedEvent[],
  broken: string[],
): Promise<void> {
  const { receivers, driver } = site;
  const known = new Map(log.map((event) => [event.id, event]));
  const heardBy = Map.groupBy(receivers.heard, ({ subscriptionId }) => subscriptionId);
  const readers: StoredConsumer[] = await driver.deliveries.consumers({ limit: 500 });
  for (const { subscription, progress } of readers) {
    const delivered = new Set<string>();
    for (const { eventId, statusCode } of heardBy.get(subscription.id) ?? []) {
      if (statusCode !== undefined && statusCode < 300) delivered.add(eventId);
    }
    const kept = await keptOf(site, subscription.id);
    const overdueMs = OVERDUE_MS + (site.climate.untakeable > 0 ? kept.length * TURN_MS : 0);
    for (const { dueAtMs, sequence, attempts } of kept) {
      const inMs = dueAtMs === null ? 0 : dueAtMs - site.time.now();
      if (inMs > longestDelayMs(site, attempts)) {
        broken.push(`${subscription.url} tries ${sequence} again only in ${inMs} ms`);
      }
      // A clock that was set ahead makes much overdue at once.
      if (Math.min(-inMs, site.world.nowMs - site.world.clockSetAtMs) > overdueMs) {
        broken.push(`${subscription.url} should have been sent ${sequence} again ${-inMs} ms ago`);
      }
    }
    const isKept = new Set(kept.map(({ sequence }) => sequence));
    // Who wants the order waits at what failed, also at what a failing endpoint is only asked with.
    const isAsked = progress.failingSinceMs !== null &&
      (heardBy.get(subscription.id) ?? []).some(({ beganMs }) => site.world.nowMs - beganMs < OVERDUE_MS);
    const isWaiting = isAsked || kept.some(({ state }) => state === "retrying");
    const waitsAt = subscription.ordered && isWaiting ? progress.cursor : Infinity;
    const filter = filterOf(subscription);
    for (const eventId of delivered) {
      const event = known.get(eventId);
      // A replay goes back before the beginning.
      if (event === undefined || matches({ ...filter, fromHeight: undefined }, event)) continue;
      broken.push(`${subscription.url} was sent ${eventId}, which it does not listen to`);
    }
    if (subscription.ordered && !receivers.replayed.has(subscription.id)) {
      // What was rejected is over; who has lost a lease without knowing it may still repeat it.
      const ended = new Set(kept.flatMap(({ state, sequence }) => state === "retrying" ? [] : [sequence]));
      const inOrder = [...delivered].filter((eventId) => !ended.has(known.get(eventId)?.sequence ?? 0));
      checkOrder(subscription.url, inOrder, known, broken);
    }
    for (const event of log) {
      if (event.sequence <= (site.owedAfter.get(subscription.id) ?? 0) || !matches(filter, event)) continue;
      if (delivered.has(event.id) || isKept.has(event.sequence) || event.sequence > waitsAt) continue;
      const where = `the cursor is at ${progress.cursor} of ${log.length}`;
      broken.push(`${subscription.url} never got ${event.sequence} (${event.id}), and nobody says so; ${where}`);
    }
  }
  for (const post of [...receivers.tested, ...receivers.heard]) checkPost(site, post, broken);
  for (const post of receivers.heard) {
    checkHeed(site, clients, post, broken);
    if (!known.has(post.eventId)) {
      broken.push(`${post.subscriptionId} was sent ${post.eventId}, which is not in the log`);
    }
  }
}

/** How far ahead the next of so many attempts may be: where a clock may have been moved under it, a day. */
function longestDelayMs({ climate, time }: Site, attempts: number): number {
  if (!climate.isShared || time.wasMoved) return LONGEST_DELAY_MS;
  return Math.max(TOLD_SECONDS[attempts - 1]! * 1.1, MOST_ASKED_SECONDS) * 1_000 + WRONG_MS;
}

/** Nothing is sent to who is gone, and all is signed. */
function checkPost({ receivers, climate }: Site, post: Heard, broken: string[]): void {
  const { subscriptionId, eventId, isSigned, beganMs } = post;
  const deletedMs = receivers.deletedAtMs.get(subscriptionId) ?? Infinity;
  if (beganMs - deletedMs > GONE_MS) {
    broken.push(`${subscriptionId} was sent ${eventId} ${beganMs - deletedMs} ms after it was deleted`);
  }
  // Where the machine's clock is the only one, a day of it ends a former secret.
  const endsEarly = !climate.isShared && climate.clockStepsMs.some((byMs) => Math.abs(byMs) >= DAY_MS);
  // Who was never told that it was made knows no secret.
  if (receivers.secrets.has(subscriptionId) && !endsEarly && !isSigned()) {
    broken.push(`${subscriptionId} was sent ${eventId} with a signature that is none`);
  }
}

/** Nothing is sent to whose key is disabled; a test event was asked for with one that was not. */
function checkHeed({ receivers }: Site, clients: Client[], post: Heard, broken: string[]): void {
  const { subscriptionId, eventId, beganMs } = post;
  const owner = clients.find(({ keyId }) => receivers.owners.get(subscriptionId) === keyId);
  const last = owner?.switched.filter(({ atMs }) => atMs <= beganMs).at(-1);
  if (last?.enabled === false && beganMs - last.atMs > HEED_MS * 1.01) {
    broken.push(`${subscriptionId} was sent ${eventId} ${beganMs - last.atMs} ms after its key was disabled`);
  }
}

/** What was to be sent again was, since then, or is kept; a replay waits only at what failed. */
export async function checkReplays(
  { driver, receivers, climate }: Site,
  replays: TakenReplay[],
  log: LoggedEvent[],
  broken: string[],
): Promise<void> {
  // Ledgers are those of the network as it is.
  if (climate.misfortunes.some(([what]) => what === "reset")) return;
  for (const { hookId, askedMs, upTo, eventId } of replays) {
    const reader = await driver.deliveries.consumer(hookId);
    if (reader === undefined) continue;
    const kept = await keptOf({ driver }, hookId);
    const isKept = new Set(kept.map(({ sequence }) => sequence));
    const mayWait = kept.some(({ state }) => state === "retrying");
    if (reader.replay !== null && !mayWait) broken.push(`a replay to ${reader.subscription.url} does not end`);
    if (reader.replay !== null) continue;
    const since = receivers.heard.filter(({ subscriptionId, beganMs }) =>
      subscriptionId === hookId && beganMs >= askedMs
    );
    const delivered = new Set(since.filter(({ statusCode = 500 }) => statusCode < 300).map((post) => post.eventId));
    const filter = { ...filterOf(reader.subscription), fromHeight: undefined };
    for (const event of log) {
      const isAsked = eventId === undefined ? event.sequence <= upTo : event.id === eventId;
      if (!isAsked || !matches(filter, event) || delivered.has(event.id) || isKept.has(event.sequence)) continue;
      const when = `of a replay at ${Math.round(askedMs)}`;
      broken.push(`${reader.subscription.url} was not sent ${event.sequence} again, ${when}`);
    }
  }
}

/** Whoever asked under one key again and again has one webhook, until he asks that it goes. */
export async function checkHooks({ driver }: Site, made: Hook[], broken: string[]): Promise<void> {
  const all = await driver.subscriptions.list({ limit: 1_000 });
  const there = new Set(all.map(({ id }) => id));
  for (const { id, url, isUnwanted } of made) {
    if (!isUnwanted && !there.has(id)) broken.push(`the webhook to ${url} is gone, and nobody wanted that`);
  }
  for (const [url, same] of Map.groupBy(all, ({ url }) => url)) {
    if (same.length > 1) broken.push(`there are ${same.length} webhooks to ${url}, which one intent has made`);
  }
}

/** Who wants the order, and no replay, gets each event for the first time after all before it. */
function checkOrder(url: string, delivered: string[], known: Map<string, LoggedEvent>, broken: string[]): void {
  let last = 0;
  for (const eventId of delivered) {
    const { sequence = 0 } = known.get(eventId) ?? {};
    if (sequence < last) return void broken.push(`${url} got ${sequence} after ${last}, though it wants the order`);
    last = sequence;
  }
}

/** What is kept of a webhook's failed deliveries. */
async function keptOf({ driver }: Pick<Site, "driver">, subscriptionId: string) {
  const { deliveries } = driver;
  const lists = FAILED_STATES.map((state) =>
    allPages((last) => deliveries.failed({ subscriptionId, state, beyond: last, limit: MOST_OF_KEPT }))
  );
  return (await Promise.all(lists)).flat().map(({ delivery }) => delivery);
}

/** Each page begins behind the last one of the page before. */
async function allPages(
  page: (last: number | undefined) => DueDelivery[] | Promise<DueDelivery[]>,
): Promise<DueDelivery[]> {
  const all: DueDelivery[] = [];
  for (let full = true; full;) {
    const more = await page(all.at(-1)?.delivery.sequence);
    all.push(...more);
    full = more.length === MOST_OF_KEPT;
  }
  return all;
}

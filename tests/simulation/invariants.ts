import { type LoggedEvent, matches, parseEventId } from "../../lib/store/event.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { filterOf, type Reader } from "../../lib/store/webhook.ts";
import { LONGEST_DELAY_MS } from "../../lib/webhooks/delivery/schedule.ts";
import type { Client, HistoryReader } from "./client.ts";
import type { Machine } from "./machine.ts";
import type { Site } from "./site.ts";
import { START_MS } from "./world.ts";

/** How long a key may still be heard of after it was disabled. */
const HEED_MS = 1_000;

/** How long a webhook that is gone may still be heard of, whatever the store suffers. */
const GONE_MS = 90_000;

/** Whose commits go through: no lease may have two terms at work. */
export function watchTerms(site: Site, broken: (what: string) => void): void {
  const newest = new Map<string, number>();
  site.onStoreCall = (machine: Machine, method: string, args: unknown[], answer: unknown) => {
    if (method === "leases.acquire" && answer !== undefined) {
      const { name, term } = answer as { name: string; term: number };
      newest.set(name, term);
    }
    const written = args[0] as { lease?: { name: string; term: number }; leases?: { name: string; term: number }[] };
    const isWrite = ["events.append", "events.appendDecoded", "deliveries.settle"].includes(method);
    if (!isWrite) return;
    for (const { name, term } of [...(written.lease ? [written.lease] : []), ...(written.leases ?? [])]) {
      if (term !== newest.get(name)) {
        broken(`${machine.name} wrote under term ${term} of ${name}, whose term is ${newest.get(name)}`);
      }
    }
  };
}

/** All that has to hold when everything has been well for a while. Answers what does not. */
export async function brokenInvariants(
  site: Site,
  clients: Client[],
  readers: HistoryReader[],
): Promise<string[]> {
  const broken: string[] = [];
  const log = await wholeLog(site);
  const state = await site.driver.events.watcherState();
  if (state === undefined) return ["nothing was ever committed"];
  checkLog(site, log, state, broken);
  for (const reader of readers) checkReader(reader, log, broken);
  await checkDeliveries(site, clients, log, broken);
  for (const client of clients) {
    checkLimit(client, broken);
    checkRefusals(client, broken);
  }
  return broken;
}

async function wholeLog({ driver }: Site): Promise<LoggedEvent[]> {
  const log: LoggedEvent[] = [];
  while (true) {
    const page = await driver.events.read({ filter: {}, after: log.at(-1)?.sequence, order: "asc", limit: 1_000 });
    log.push(...page);
    if (page.length < 1_000) return log;
  }
}

/** Each event that happened is in the log once, or in a gap that is shown; nothing else is. */
function checkLog({ chain, readBeforeReset }: Site, log: LoggedEvent[], state: WatcherState, broken: string[]): void {
  const byHash = Map.groupBy(log, ({ txHash }) => txHash);
  for (const [index, { sequence }] of log.entries()) {
    if (sequence !== index + 1) return void broken.push(`sequence ${sequence} stands at place ${index + 1} of the log`);
  }
  const epochOf = new Map<number, number>();
  const happened = new Set<string>();
  for (const { txHash, generation } of chain.happened) {
    happened.add(txHash);
    const logged = byHash.get(txHash) ?? [];
    if (logged.length > 1) broken.push(`${short(txHash)} is in the log ${logged.length} times`);
    if (logged.length > 0) epochOf.set(generation, parseEventId(logged[0]!.id)!.epoch);
  }
  for (const { txHash } of log) if (!happened.has(txHash)) broken.push(`${short(txHash)} never happened`);
  const { generation: current, latest } = chain.ledgers;
  if (state.scannedLedger < latest - 3) broken.push(`the log ends at ledger ${state.scannedLedger} of ${latest}`);
  for (const { txHash, generation, ledger } of chain.happened) {
    if (byHash.has(txHash) || (generation < current && ledger > readBeforeReset)) continue;
    const epoch = epochOf.get(generation) ?? (generation === current ? state.epoch : undefined);
    if (epoch === undefined || isShownMissing(state, epoch, ledger)) continue;
    broken.push(`${short(txHash)} of ledger ${ledger} (generation ${generation}) is missing`);
  }
}

function isShownMissing(state: WatcherState, epoch: number, ledger: number): boolean {
  const inGap = state.gaps.some((gap) => gap.epoch === epoch && ledger >= gap.fromLedger && ledger <= gap.toLedger);
  if (inGap) return true;
  if (epoch < state.epoch) {
    const held = state.formerEpochs.filter((former) => former.epoch === epoch);
    return !held.some(({ fromLedger, toLedger }) => ledger >= fromLedger && ledger <= toLedger);
  }
  const froms = Object.values(state.contracts).map(({ fromLedger }) => fromLedger);
  return ledger < Math.max(...froms) || ledger > state.scannedLedger;
}

/** Who reads by cursor has seen exactly the log, in its order. */
function checkReader({ seen, limit }: HistoryReader, log: LoggedEvent[], broken: string[]): void {
  for (let at = 0; at < Math.max(seen.length, log.length); at++) {
    if (seen[at]?.id === log[at]?.id && seen[at]?.txHash === log[at]?.txHash) continue;
    const what = seen[at] === undefined ? "nothing" : seen[at]!.id;
    return void broken.push(`a reader of pages of ${limit} saw ${what} at place ${at + 1}, not ${log[at]?.id}`);
  }
}

/** Each matching event was delivered, or is visibly retrying, rejected or dead; no more than that was heard. */
async function checkDeliveries(site: Site, clients: Client[], log: LoggedEvent[], broken: string[]): Promise<void> {
  const { receivers, driver, world } = site;
  const known = new Map(log.map((event) => [event.id, event]));
  const heardBy = Map.groupBy(receivers.heard, ({ subscriptionId }) => subscriptionId);
  const readers: Reader[] = await driver.deliveries.readers({ limit: 500 });
  for (const { subscription, progress } of readers) {
    const delivered = new Set<string>();
    for (const { eventId, statusCode } of heardBy.get(subscription.id) ?? []) {
      if (statusCode !== undefined && statusCode < 300) delivered.add(eventId);
    }
    const kept = await keptOf(site, subscription.id);
    for (const { dueAtMs, sequence } of kept) {
      const inMs = dueAtMs === null ? 0 : dueAtMs - START_MS - world.nowMs;
      // Machines may be off by as much as their clocks were set: what is due goes by theirs.
      if (inMs > LONGEST_DELAY_MS) broken.push(`${subscription.url} tries ${sequence} again only in ${inMs} ms`);
    }
    const isKept = new Set(kept.map(({ sequence }) => sequence));
    // Who wants the order waits at what failed.
    const waitsAt = subscription.ordered && kept.some(({ state }) => state === "retrying") ? progress.cursor : Infinity;
    const filter = filterOf(subscription);
    for (const eventId of delivered) {
      const event = known.get(eventId);
      // A replay goes back before the beginning.
      if (event === undefined || matches({ ...filter, fromHeight: undefined }, event)) continue;
      broken.push(`${subscription.url} was sent ${eventId}, which it does not listen to`);
    }
    if (subscription.ordered && !receivers.replayed.has(subscription.id)) {
      checkOrder(subscription.url, [...delivered], known, broken);
    }
    for (const event of log) {
      if (event.sequence <= (site.owedAfter.get(subscription.id) ?? 0) || !matches(filter, event)) continue;
      if (delivered.has(event.id) || isKept.has(event.sequence) || event.sequence > waitsAt) continue;
      const where = `the cursor is at ${progress.cursor} of ${log.length}`;
      broken.push(`${subscription.url} never got ${event.sequence} (${event.id}), and nobody says so; ${where}`);
    }
  }
  for (const { subscriptionId, eventId, isSigned, beganMs } of receivers.heard) {
    const deletedMs = receivers.deletedAtMs.get(subscriptionId) ?? Infinity;
    if (beganMs - deletedMs > GONE_MS) {
      broken.push(`${subscriptionId} was sent ${eventId} ${beganMs - deletedMs} ms after it was deleted`);
    }
    // Who was never told that it was made knows no secret.
    if (receivers.secrets.has(subscriptionId) && !isSigned()) {
      broken.push(`${subscriptionId} was sent ${eventId} with a signature that is none`);
    }
    if (!known.has(eventId)) broken.push(`${subscriptionId} was sent ${eventId}, which is not in the log`);
    const owner = clients.find(({ keyId }) => receivers.owners.get(subscriptionId) === keyId);
    const last = owner?.switched.filter(({ atMs }) => atMs <= beganMs).at(-1);
    if (last?.enabled === false && beganMs - last.atMs > HEED_MS * 1.01) {
      broken.push(`${subscriptionId} was sent ${eventId} ${beganMs - last.atMs} ms after its key was disabled`);
    }
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

async function keptOf({ driver }: Site, subscriptionId: string) {
  const kept = [];
  for (const read of ["retrying", "ended"] as const) {
    const page = await driver.deliveries[read]({ subscriptionId, limit: 200 });
    kept.push(...page.map(({ delivery }) => delivery));
  }
  return kept;
}

/** What a key that is disabled was let in for. */
function checkRefusals({ admitted, switched, keyId }: Client, broken: string[]): void {
  for (const { askedMs: atMs } of admitted) {
    const last = switched.filter((one) => one.atMs <= atMs).at(-1);
    if (last?.enabled !== false || atMs - last.atMs <= 2 * HEED_MS) continue;
    broken.push(`key ${keyId} was let in ${atMs - last.atMs} ms after it was disabled`);
  }
}

/** Over any time no more was let through, from question to answer, than the bucket held and got. */
function checkLimit({ admitted, rate, keyId }: Client, broken: string[]): void {
  for (const { askedMs: fromMs } of admitted) {
    const answers = admitted.filter(({ askedMs }) => askedMs >= fromMs).map(({ answeredMs }) => answeredMs);
    for (const [before, toMs] of answers.toSorted((a, b) => a - b).entries()) {
      const most = rate + ((toMs - fromMs) * rate) / 60_000;
      // What a machine may spend goes by its own clock, which is off by up to two thousandths.
      if (before + 1 <= most * 1.002 + 1) continue;
      return void broken.push(`key ${keyId} was let through ${before + 1} times in ${toMs - fromMs} ms, of ${most}`);
    }
  }
}

const short = (txHash: string) => `tx ${txHash.replace(/^0+/, "")}`;

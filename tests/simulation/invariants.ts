import { EVENT_TYPES } from "../../lib/escrow/events.ts";
import { isOwnType, type LoggedEvent, parseEventId } from "../../lib/store/event.ts";
import type { WatcherState } from "../../lib/store/store.ts";
import { partitionLease, partitionOf } from "../../lib/store/webhook.ts";
import { checkWalks } from "./backward_reader.ts";
import { checkBooks } from "./books_invariant.ts";
import type { HistoryReader } from "./client.ts";
import { checkCards, checkLimit, checkPayments, checkRefusals, checkStream } from "./client_invariants.ts";
import { checkDeliveries, checkHooks, checkReplays } from "./delivery_invariants.ts";
import type { Machine } from "./machine.ts";
import { checkOwnEvents, checkPaymentStates, checkReferences } from "./payment_invariants.ts";
import type { People } from "./people.ts";
import type { Site } from "./site.ts";

/** What a machine's clock gains on the store's in the life of a lease. */
const LEASE_DRIFT_MS = 60;

/** Whose commits go through, and who posts: no lease may have two terms at work. */
export function watchTerms(site: Site, broken: (what: string) => void): void {
  const newest = new Map<string, number>();
  const taken = new Map<string, { by: Machine; atMs: number }>();
  // Who stands still between the look at its lease and the post cannot know.
  const standsStill = site.climate.misfortunes.some(([what]) => what === "pause" || what === "ambush");
  site.receivers.onPost = (machine, subscriptionId) => {
    if (standsStill || site.time.wasMoved || machine.isDead) return;
    const partition = partitionOf(subscriptionId);
    const { by, atMs } = taken.get(partitionLease(partition)) ?? { by: machine, atMs: 0 };
    if (by === machine || site.world.nowMs - atMs <= LEASE_DRIFT_MS) return;
    broken(`${machine.name} posts for partition ${partition}, which ${by.name} has taken`);
  };
  site.onStoreCall = (machine: Machine, method: string, args: unknown[], answer: unknown) => {
    if (method === "leases.acquire" && answer !== undefined) {
      const { name, term } = answer as { name: string; term: number };
      newest.set(name, term);
      taken.set(name, { by: machine, atMs: site.world.nowMs });
    }
    const written = args[0] as { lease?: { name: string; term: number }; leases?: { name: string; term: number }[] };
    const isWrite = ["events.append", "deliveries.settle", "payments.commit"].includes(method);
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
  { clients, readers, streams, backward, payers, hooks, replays, cardReaders }: People,
): Promise<string[]> {
  const broken = [...site.faults];
  const log = await wholeLog(site);
  const state = await site.driver.events.watcherState();
  if (state === undefined) return ["nothing was ever committed"];
  checkLog(site, log, state, broken);
  for (const reader of [...readers, ...streams]) checkReader(reader, log.filter(reader.question.isAnswer), broken);
  for (const reader of backward) checkWalks(reader, log, broken);
  await checkDeliveries(site, clients, log, broken);
  await checkHooks(site, hooks, broken);
  await checkReplays(site, replays, log, broken);
  for (const client of clients) {
    checkLimit(site, client, broken);
    checkRefusals(client, broken);
  }
  for (const stream of streams) checkStream(site, stream, broken);
  checkCards(site, cardReaders, payers, broken);
  checkPayments(site, payers, broken);
  await checkReferences(site, payers, broken);
  await checkPaymentStates(site, log, state, broken);
  checkOwnEvents(site, log, broken);
  // What is missing is missing in the books, too.
  if (broken.length === 0) await checkBooks(site, state, broken);
  return broken;
}

async function wholeLog({ driver }: Site): Promise<LoggedEvent[]> {
  const log: LoggedEvent[] = [];
  while (true) {
    const page = await driver.events.read({
      filter: { types: [...EVENT_TYPES] },
      after: log.at(-1)?.sequence,
      order: "asc",
      limit: 1_000,
    });
    log.push(...page);
    if (page.length < 1_000) return log;
  }
}

/** Each event that happened is in the log once, or in a gap that is shown; nothing else is. */
function checkLog({ chain, readBeforeReset }: Site, log: LoggedEvent[], state: WatcherState, broken: string[]): void {
  const byHash = Map.groupBy(log.filter(({ type }) => !isOwnType(type)), ({ txHash }) => txHash);
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
    // What a node left out, and a reset took away before anybody looked a second time, nobody can know.
    if (generation < current && chain.withheld.has(txHash)) continue;
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

/** Who reads on has seen exactly what was asked for of the log, in its order. */
function checkReader({ seen, name }: Pick<HistoryReader, "seen" | "name">, log: LoggedEvent[], broken: string[]): void {
  for (let at = 0; at < Math.max(seen.length, log.length); at++) {
    if (seen[at]?.id === log[at]?.id && seen[at]?.txHash === log[at]?.txHash) continue;
    const what = seen[at] === undefined ? "nothing" : seen[at]!.id;
    return void broken.push(`${name} saw ${what} at place ${at + 1}, not ${log[at]?.id}`);
  }
}

const short = (txHash: string) => `tx ${txHash.replace(/^0+/, "")}`;

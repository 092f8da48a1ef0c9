import type { Kv, KvAtomic, KvEntry } from "../../runtime/kv.ts";
import type { NewEvent, UndecodedEvent } from "../event.ts";
import type { HistoryGap, WatcherState } from "../store.ts";
import { EMPTY_LOG, putLogged, putUndecoded } from "./events.ts";
import {
  FORMER_PRUNED,
  FORMER_WATCHER,
  type FormerEvent,
  formerEventKey,
  type FormerGap,
  formerIndexKeys,
  formerLateKey,
  formerRange,
  formerRawKey,
  formerUndecodedKey,
  type FormerWatcherState,
} from "./former_schema.ts";
import { collect, getAll } from "./io.ts";
import { toPieces } from "./large_values.ts";
import type { Step } from "./migration.ts";
import { FORGOTTEN, LOG, type LogEntry, rawKey, WATCHER } from "./schema.ts";

/** Each is up to fourteen writes, of 1 100 bytes of keys. */
const EVENTS_PER_COMMIT = 50;
/** Each may have 64 KiB. */
const UNDECODED_PER_COMMIT = 5;

/** While the events are where they were: they say what is held of earlier epochs. */
export const moveWatcherState: Step = async (kv, atomic) => {
  const { value: former } = await kv.get<FormerWatcherState>(FORMER_WATCHER);
  if (former === null) return false;
  const contractIds = former.contractIds.split(",").filter((id) => id !== "").sort();
  const gaps = (await collect(kv.list<FormerGap>({ prefix: ["gap"] }, { batchSize: 500 })))
    .map(({ value }): HistoryGap => ({ ...value, contractIds, reason: "pruned" }));
  const { epoch, latestLedger, latestLedgerCloseTime, scannedLedger, oldestLedger, rpcCursor } = former;
  const state: WatcherState = {
    epoch,
    latestLedger,
    latestLedgerCloseTime,
    scannedLedger,
    rpcCursor,
    settledLedger: scannedLedger,
    rescans: [],
    checkpoints: [],
    formerCheckpoints: [],
    contracts: Object.fromEntries(contractIds.map((id) => [id, { fromLedger: oldestLedger, toLedger: null }])),
    gaps,
    formerEpochs: await formerEpochs(kv, epoch),
  };
  for (const { key, value } of toPieces(WATCHER, state)) atomic.set(key, value);
  atomic.delete(FORMER_WATCHER);
  return true;
};

async function formerEpochs(kv: Kv, current: number): Promise<WatcherState["formerEpochs"]> {
  const held: WatcherState["formerEpochs"] = [];
  for (let epoch = 0; epoch < current; epoch++) {
    const [start, end] = [epoch, epoch + 1].map((one) => ["event", String(one).padStart(4, "0")]);
    const ledgerAt = async (reverse: boolean) =>
      (await collect(kv.list<FormerEvent>({ start: start!, end: end! }, { limit: 1, reverse })))[0]?.value.ledger;
    const [fromLedger, toLedger] = [await ledgerAt(false), await ledgerAt(true)];
    if (fromLedger !== undefined && toLedger !== undefined) held.push({ epoch, fromLedger, toLedger });
  }
  return held;
}

export const moveUndecoded: Step = async (kv, atomic) => {
  const found = await collect(kv.list<FormerEvent>(formerRange("undecoded"), { limit: UNDECODED_PER_COMMIT }));
  for (const { key, value: { position, ...event } } of found) {
    const { value: raw } = await kv.get<UndecodedEvent["raw"]>(formerRawKey(position));
    const undecoded: UndecodedEvent = { ...event, type: null, raw: raw ?? { topics: [], value: "" } };
    putUndecoded(atomic, undecoded);
    for (const piece of toPieces(rawKey(event.id), undecoded.raw)) atomic.set(piece.key, piece.value);
    atomic.delete(key).delete(formerUndecodedKey(position)).delete(formerRawKey(position));
  }
  return found.length > 0;
};

/** Where some were forgotten, the log does not begin at its beginning. */
export const moveForgotten: Step = async (kv, atomic) => {
  const [pruned, log] = await kv.getMany<[string, LogEntry]>([FORMER_PRUNED, LOG]);
  if (!pruned.value || log.value !== null) return false;
  atomic.set(FORGOTTEN, 1).set(LOG, { ...EMPTY_LOG, last: 1 });
  return true;
};

/** Sequences in the order of the ledgers, but what fan-out has yet to hand on beside its cursor comes last. */
export function moveEvents(): Step[] {
  let after = "";

  const inOrder: Step = async (kv, atomic, entry) => {
    if (entry.inOrder !== undefined) return false;
    const found = await collect(
      kv.list<FormerEvent>(formerRange("event", after), { limit: EVENTS_PER_COMMIT, batchSize: EVENTS_PER_COMMIT }),
    );
    const late = await getAll(kv, found.map(({ value }) => formerLateKey(value.position)));
    const isLate = (index: number) => late[index]!.value !== null;
    const last = await append(kv, atomic, found.filter((_, index) => !isLate(index)));
    // Past the late ones alone: the others are not there any more once this is committed.
    for (let index = 0; index < found.length && isLate(index); index++) after = found[index]!.value.position;
    if (found.length === 0) entry.inOrder = last;
    return found.length > 0;
  };

  const late: Step = async (kv, atomic) => {
    const found = await collect(
      kv.list<FormerEvent>(formerRange("event"), { limit: EVENTS_PER_COMMIT, batchSize: EVENTS_PER_COMMIT }),
    );
    await append(kv, atomic, found);
    for (const { value } of found) atomic.delete(formerLateKey(value.position));
    return found.length > 0;
  };

  return [inOrder, late];
}

/** Answers the last sequence then. */
async function append(kv: Kv, atomic: KvAtomic, found: KvEntry<FormerEvent>[]): Promise<number> {
  const log = (await kv.get<LogEntry>(LOG)).value ?? EMPTY_LOG;
  putLogged(atomic, log, found.map(({ value }) => toNewEvent(value)));
  for (const { value } of found) {
    for (const key of [formerEventKey(value.position), ...formerIndexKeys(value)]) atomic.delete(key);
  }
  return log.last + found.length;
}

function toNewEvent({ position: _, type, ...event }: FormerEvent): NewEvent {
  return { ...event, type: type!, knownAt: Math.floor(Date.parse(event.ledgerClosedAt) / 1_000) };
}

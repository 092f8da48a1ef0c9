import type { Kv, KvAtomic } from "../../runtime/kv.ts";
import { heightOfEvent, type LoggedEvent, type NewEvent, type UndecodedEvent } from "../event.ts";
import type { NounDriver } from "../checked_store.ts";
import { unixSeconds } from "../codec.ts";
import type { EventStore, Lease, WatcherState } from "../store.ts";
import { denoKvEventQueries } from "./event_query.ts";
import { denoKvForget } from "./retention.ts";
import { afterKey, collect, commit, type DenoKvContext, getAll, present, readPieces, toPieces } from "./database.ts";
import { checkOwn } from "./leases.ts";
import {
  eventKey,
  FORGOTTEN,
  idKey,
  indexKeys,
  lateKey,
  type LeaseEntry,
  leaseKey,
  LOG,
  type LogEntry,
  rawKey,
  reachedKey,
  typeKey,
  undecodedKey,
  WATCHER,
} from "./schema.ts";

const EMPTY_LOG: LogEntry = { last: 0, highest: -1 };

/** The writes of one commit that writes nothing else. */
const CHARACTERS_PER_COMMIT = 300_000;
const WRITES_PER_COMMIT = 500;

type UndecodedEntry = Omit<UndecodedEvent, "raw">;

/** The log. */
export function denoKvEvents(context: DenoKvContext): NounDriver<EventStore> {
  const { kv, location, retry } = context;

  /** Begins a commit under the watcher's lease. */
  async function startCommit(lease: Lease): Promise<{ atomic: KvAtomic; log: LogEntry }> {
    const [held, log] = await kv.getMany<[LeaseEntry, LogEntry]>([leaseKey(lease.name), LOG]);
    checkOwn(location, [lease], [held]);
    return { atomic: kv.atomic().check(held, log), log: log.value ?? EMPTY_LOG };
  }

  async function removeRawParts(ids: string[]): Promise<void> {
    const keys = (await Promise.all(ids.map((id) => collect(kv.list({ prefix: rawKey(id) }))))).flat();
    for (let at = 0; at < keys.length; at += WRITES_PER_COMMIT) {
      const atomic = kv.atomic();
      for (const { key } of keys.slice(at, at + WRITES_PER_COMMIT)) atomic.delete(key);
      await commit(atomic);
    }
  }

  return {
    ...denoKvEventQueries(context),
    forget: denoKvForget(context),
    watcherState: () => readPieces<WatcherState>(kv, WATCHER),
    async append({ lease, events, state, after }) {
      const once = firstOfEach(events);
      const { logged, decoded } = await retry(async () => {
        const begun = await startCommit(lease);
        const { atomic } = begun;
        let { log } = begun;
        if (after !== undefined && log.last === 0) {
          log = { ...log, last: after };
          atomic.set(FORGOTTEN, after).set(LOG, log);
        }
        const stored = await getAll<number>(kv, once.map(({ id }) => idKey(id)));
        const sequenceOf = new Map(once.map(({ id }, index) => [id, stored[index]!.value]));
        const undecoded = once.filter((event) => event.type === null).filter(({ id }) => sequenceOf.get(id) === null);
        await writeRawParts(kv, undecoded);
        const fresh = once.filter((event) => event.type !== null).filter(({ id }) => !sequenceOf.get(id));
        const logged = putLogged(atomic, log, fresh);
        const decoded = logged.map(({ id }) => id).filter((id) => sequenceOf.get(id) === 0);
        for (const id of decoded) atomic.delete(undecodedKey(id));
        for (const event of undecoded) putUndecoded(atomic, event);
        // Also for undecoded events: of two handles that add the same one, one must repeat.
        if (undecoded.length > 0 && logged.length === 0) atomic.set(LOG, log);
        for (const { key, value } of toPieces(WATCHER, state)) atomic.set(key, value);
        return await commit(atomic) ? { done: { logged, decoded } } : undefined;
      });
      await removeRawParts(decoded);
      return logged;
    },
    undecoded: ({ after, limit }) =>
      retry(async () => {
        const prefix = ["undecoded"];
        const range = after === undefined ? { prefix } : { prefix, start: afterKey(undecodedKey(after)) };
        const entries = (await collect(kv.list<UndecodedEntry>(range, { limit }))).map(({ value }) => value);
        const raws = await Promise.all(entries.map(({ id }) => readPieces<UndecodedEvent["raw"]>(kv, rawKey(id))));
        const events = entries.map((entry, index) => ({ ...entry, raw: raws[index]! }));
        // An event that was decoded just now is missing, and the page would look like the last one. So the read repeats.
        return raws.every((raw) => raw !== undefined) ? { done: events } : undefined;
      }),
    async forgetUndecoded(closedBefore) {
      const old: UndecodedEntry[] = [];
      const before = unixSeconds(closedBefore);
      for await (const { value } of kv.list<UndecodedEntry>({ prefix: ["undecoded"] }, { batchSize: 500 })) {
        if (unixSeconds(value.ledgerClosedAt) < before) old.push(value);
        if (old.length === 200) break;
      }
      if (old.length === 0) return 0;
      const removed = await retry(async () => {
        // Checked and written, so that an event that is decoded meanwhile stays in the log.
        const log = await kv.get<LogEntry>(LOG);
        const stored = await getAll<number>(kv, old.map(({ id }) => idKey(id)));
        const left = old.filter((_, index) => stored[index]!.value === 0);
        const atomic = kv.atomic().check(log).set(LOG, log.value ?? EMPTY_LOG);
        for (const { id } of left) atomic.delete(undecodedKey(id)).delete(idKey(id));
        return await commit(atomic) ? { done: left } : undefined;
      });
      await removeRawParts(removed.map(({ id }) => id));
      return removed.length;
    },
  };
}

/**
 * A commit takes 800 KiB, and raw events can be large. So their raw parts are written before the commit. They are invisible
 * until then.
 */
async function writeRawParts(kv: Kv, events: UndecodedEvent[]): Promise<void> {
  let atomic = kv.atomic();
  let [writes, characters] = [0, 0];
  for (const { key, value } of events.flatMap(({ id, raw }) => toPieces(rawKey(id), raw))) {
    if (writes === WRITES_PER_COMMIT || characters + value.text.length > CHARACTERS_PER_COMMIT) {
      await commit(atomic);
      atomic = kv.atomic();
      [writes, characters] = [0, 0];
    }
    atomic.set(key, value);
    writes += 1;
    characters += value.text.length;
  }
  if (writes > 0) await commit(atomic);
}

/** Gives events the next sequences. At most eight writes each, one for each type, and one for the log. */
function putLogged(atomic: KvAtomic, log: LogEntry, events: NewEvent[]): LoggedEvent[] {
  let { last, highest } = log;
  const logged = events.map((event) => {
    last += 1;
    const entry: LoggedEvent = { ...present(event), sequence: last };
    const height = heightOfEvent(event);
    atomic.set(eventKey(last), entry).set(idKey(event.id), last);
    for (const key of indexKeys(event, last)) atomic.set(key, true);
    if (height > highest) atomic.set(reachedKey(height), last);
    if (height < highest) atomic.set(lateKey(last), height);
    highest = Math.max(highest, height);
    return entry;
  });
  for (const type of new Set(events.map(({ type }) => type))) atomic.set(typeKey(type), true);
  if (events.length > 0) atomic.set(LOG, { last, highest });
  return logged;
}

function putUndecoded(atomic: KvAtomic, event: UndecodedEvent): void {
  const { raw: _, ...shown } = present(event);
  atomic.set(undecodedKey(event.id), shown).set(idKey(event.id), 0);
}

/** Each id once: the first event with it. */
function firstOfEach<T extends NewEvent | UndecodedEvent>(events: T[]): T[] {
  const seen = new Set<string>();
  return events.filter(({ id }) => !seen.has(id) && seen.add(id));
}

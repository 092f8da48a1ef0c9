import type { KvAtomic, KvEntryMaybe } from "../../runtime/kv.ts";
import { checkBatch, checkLimit } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { eventKey, indexKeys, typeKey } from "./history.ts";
import { commit, getAll, next, present } from "./io.ts";
import { FAN_OUT, lateKey, PRUNED } from "./webhook_keys.ts";
import { hasPassed, raiseRereads, readsAgain } from "../fan_out_cursor.ts";
import type { HistoryGap, Store, StoredEvent, WatcherState } from "../store.ts";
import type { FanOutCursor } from "../webhook_store.ts";

type EventMethods = Pick<Store, "watcherState" | "commitEvents" | "undecodedEvents" | "decodeEvents" | "gaps">;

type Raw = StoredEvent["raw"];

const WATCHER = ["watcher"];
const undecodedKey = (position: string) => ["undecoded", position];
const rawKey = (position: string) => ["undecoded_raw", position];
const gapKey = (gap: HistoryGap) => ["gap", gap.epoch, gap.fromLedger, gap.toLedger];

/** What the watcher writes. */
export function denoKvEvents({ kv, run, retry }: DenoKvContext): EventMethods {
  /**
   * A raw event can have tens of kilobytes, and a commit takes 800 KiB: the raw parts are written before the commit,
   * where nobody finds them until it makes them visible.
   */
  async function writeRawParts(events: StoredEvent[]): Promise<void> {
    for (const { type, position, raw } of events) {
      if (type === null && raw) await commit(kv.atomic().set(rawKey(position), raw));
    }
  }

  /** The slice's events that are not held yet, each position once. */
  async function onlyNew(events: StoredEvent[]): Promise<StoredEvent[]> {
    const byPosition = new Map(events.toReversed().map((event) => [event.position, event]));
    const unique = [...byPosition.values()].toReversed();
    const [decoded, undecoded] = await Promise.all([
      getAll(kv, unique.map(({ position }) => eventKey(position))),
      getAll(kv, unique.map(({ position }) => undecodedKey(position))),
    ]);
    return unique.filter((_, index) => decoded[index]!.value === null && undecoded[index]!.value === null);
  }

  return {
    watcherState: () => run(async () => (await kv.get<WatcherState>(WATCHER)).value ?? undefined),
    commitEvents: ({ events, state, gaps = [] }) =>
      run(async () => {
        checkBatch(events, 100);
        checkBatch(gaps, 100);
        await retry(async () => {
          // Every commit writes the state: checking it means that nobody else committed since the reads below.
          const before = await kv.get<WatcherState>(WATCHER);
          const newEvents = await onlyNew(events);
          const heldGaps = await getAll(kv, gaps.map(gapKey));
          await writeRawParts(newEvents);
          const atomic = kv.atomic().check(before).set(WATCHER, present(state));
          for (const event of newEvents) put(atomic, event);
          // Read after the events: what was forgotten just now is told from what is new. Fan-out passes no ledger that is
          // not scanned, so what it has not passed by now it comes to; but where ledgers are scanned again it is stopped.
          const [cursor, pruned] = await kv.getMany<[FanOutCursor, string]>([FAN_OUT, PRUNED]);
          noteLate(atomic, cursor, newEvents.filter(({ position }) => position > (pruned.value ?? "")));
          if (readsAgain(newEvents, state, before.value ?? undefined)) goBack(atomic, cursor);
          gaps.forEach((gap, index) => {
            if (heldGaps[index]!.value === null) atomic.set(gapKey(gap), gap);
          });
          return await commit(atomic) ? { done: undefined } : undefined;
        });
      }),
    undecodedEvents: ({ after, limit }) =>
      run(async () => {
        checkLimit(limit, 100);
        const range = { prefix: ["undecoded"], start: undecodedKey(next(after ?? "")) };
        const events: StoredEvent[] = [];
        for await (const { value } of kv.list<StoredEvent>(range, { limit })) events.push(value);
        const raws = await getAll<Raw>(kv, events.map(({ position }) => rawKey(position)));
        return events.map((event, index) => present({ ...event, raw: raws[index]!.value ?? undefined }));
      }),
    decodeEvents: (events) =>
      run(async () => {
        checkBatch(events, 100);
        await retry(async () => {
          const cursor = await kv.get<FanOutCursor>(FAN_OUT);
          const held = await getAll(kv, events.map(({ position }) => undecodedKey(position)));
          const replaced = events.filter((_, index) => held[index]!.value !== null);
          await writeRawParts(replaced);
          const atomic = kv.atomic();
          for (const event of replaced) {
            if (event.type !== null) atomic.delete(undecodedKey(event.position)).delete(rawKey(event.position));
            put(atomic, event);
          }
          noteLate(atomic, cursor, replaced);
          // Of two who decode the same, only one may note it: each writes the cursor.
          if (replaced.some(({ type }) => type !== null)) goBack(atomic, cursor);
          return await commit(atomic) ? { done: undefined } : undefined;
        });
      }),
    gaps: () =>
      run(async () => {
        const gaps: HistoryGap[] = [];
        for await (const { value } of kv.list<HistoryGap>({ prefix: ["gap"] })) gaps.push(value);
        return gaps;
      }),
  };
}

/** Of these new events, those that are decoded and that fan-out has passed become late. */
function noteLate(atomic: KvAtomic, cursor: KvEntryMaybe<FanOutCursor>, added: StoredEvent[]): void {
  for (const { type, position } of added) {
    if (type !== null && hasPassed(cursor.value ?? undefined, position)) atomic.set(lateKey(position), "");
  }
}

/** Makes fan-out go back to its cursor. */
function goBack(atomic: KvAtomic, cursor: KvEntryMaybe<FanOutCursor>): void {
  atomic.check(cursor).set(FAN_OUT, raiseRereads(cursor.value ?? undefined));
}

/** At most five writes, and one for its type. */
function put(atomic: KvAtomic, event: StoredEvent): void {
  const { raw: _, ...shown } = present(event);
  if (event.type === null) {
    atomic.set(undecodedKey(event.position), shown);
    return;
  }
  atomic.set(eventKey(event.position), shown).set(typeKey(event.type), true);
  for (const key of indexKeys(event)) atomic.set(key, true);
}

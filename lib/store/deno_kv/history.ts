import type { Kv, KvListSelector } from "../../runtime/kv.ts";
import { checkLimit, END_OF_POSITIONS } from "../bounds.ts";
import type { DenoKvContext } from "./store.ts";
import { getAll, next } from "./io.ts";
import type { EventQuery, Store, StoredEvent } from "../store.ts";

const EVENT = "event";
const TYPE = "event_type";

/** Where a decoded event is kept. */
export function eventKey(position: string): string[] {
  return [EVENT, position];
}

/** Notes that there are events of this type. */
export function typeKey(type: string): string[] {
  return [TYPE, type];
}

/** Where an event is listed beside its own place: every filter of the history is a range of one of these per type. */
export function indexKeys({ type, deviceHash, merchant, position }: StoredEvent): string[][] {
  const keys = [[...indexPrefix(type!, {}), position]];
  if (deviceHash !== undefined) keys.push([...indexPrefix(type!, { deviceHash }), position]);
  if (merchant !== undefined) keys.push([...indexPrefix(type!, { merchant }), position]);
  if (deviceHash !== undefined && merchant !== undefined) {
    keys.push([...indexPrefix(type!, { deviceHash, merchant }), position]);
  }
  return keys;
}

function indexPrefix(type: string, { deviceHash, merchant }: Pick<EventQuery, "deviceHash" | "merchant">): string[] {
  if (deviceHash !== undefined && merchant !== undefined) {
    return ["event_by_device_and_merchant", deviceHash, merchant, type];
  }
  if (deviceHash !== undefined) return ["event_by_device", deviceHash, type];
  if (merchant !== undefined) return ["event_by_merchant", merchant, type];
  return ["event_by_type", type];
}

/** Pages of the history; their cost does not depend on their depth, nor on how rare their matches are. */
export function denoKvHistory({ kv, run }: DenoKvContext): Pick<Store, "readEvents"> {
  return {
    readEvents: (query) =>
      run(async () => {
        checkLimit(query.limit, 1_000);
        const { types, deviceHash, merchant, limit } = query;
        if (!types && deviceHash === undefined && merchant === undefined) {
          return await collect(
            kv.list<StoredEvent>(range([EVENT], query, query.upTo), { limit }),
            ({ value }) => value,
          );
        }
        // The ranges are read one after the other: what is committed meanwhile may show in some of them only, so the page
        // ends at the newest event there was before.
        const newest = await newestPosition(kv);
        const upTo = query.upTo !== undefined && query.upTo < newest ? query.upTo : newest;
        const held = await collect(kv.list({ prefix: [TYPE] }), ({ key }) => key[1] as string);
        const ranges = held.filter((type) => !types || types.includes(type))
          .map((type) => range(indexPrefix(type, { deviceHash, merchant }), query, upTo));
        for (;;) {
          const positions = await mergePositions(kv, ranges, limit);
          const events = (await getAll<StoredEvent>(kv, positions.map(eventKey))).map(({ value }) => value);
          // One that was forgotten just now is not missing from a page that would then look like the last: read anew.
          if (events.every((event) => event !== null)) return events;
        }
      }),
  };
}

function range(prefix: string[], { after = "" }: EventQuery, upTo = END_OF_POSITIONS): KvListSelector {
  return { start: [...prefix, next(after)], end: [...prefix, next(upTo)] };
}

async function newestPosition(kv: Kv): Promise<string> {
  const [newest] = await collect(
    kv.list({ prefix: [EVENT] }, { reverse: true, limit: 1 }),
    ({ key }) => key[1] as string,
  );
  return newest ?? "";
}

/** The lowest `limit` positions of all ranges, ascending; holds one batch of each range at a time. */
async function mergePositions(kv: Kv, ranges: KvListSelector[], limit: number): Promise<string[]> {
  const lists = ranges.map((selector) => kv.list(selector, { limit, batchSize: Math.min(limit, 100) }));
  const pull = async (list: typeof lists[number]) => {
    const { done, value } = await list.next();
    return done ? undefined : value.key.at(-1) as string;
  };
  const heads = await Promise.all(lists.map(pull));
  const positions: string[] = [];
  while (positions.length < limit) {
    let lowest = -1;
    heads.forEach((head, index) => {
      if (head !== undefined && (lowest < 0 || head < heads[lowest]!)) lowest = index;
    });
    if (lowest < 0) break;
    positions.push(heads[lowest]!);
    heads[lowest] = await pull(lists[lowest]!);
  }
  return positions;
}

async function collect<Entry, Item>(entries: AsyncIterable<Entry>, pick: (entry: Entry) => Item): Promise<Item[]> {
  const items: Item[] = [];
  for await (const entry of entries) items.push(pick(entry));
  return items;
}

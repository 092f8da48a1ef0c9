import type { Kv, KvKey } from "../../runtime/kv.ts";
import { afterKey, collect, getAll } from "./database.ts";

/** A place in the order of a list: the last parts of a key, numbers and texts. The first is a time. */
export type Place = (number | string)[];

export interface PlacedQuery {
  /** The indexes to merge. Their keys end with the place. */
  indexes: KvKey[];
  /** Bounds of the time: `from` is inclusive, `to` is not. */
  from?: number;
  to?: number;
  /** The last place of the page before. */
  after?: Place;
  order: "asc" | "desc";
  limit: number;
}

/** The subject whose index has the fewest entries. It counts ever more entries of each. */
export async function rarest<Subject>(
  kv: Kv,
  subjects: readonly Subject[],
  indexOf: (subject: Subject) => KvKey,
): Promise<Subject | undefined> {
  if (subjects.length < 2) return subjects[0];
  for (let most = 64;; most *= 8) {
    for (const subject of subjects) {
      const found = await collect(
        kv.list({ prefix: indexOf(subject) }, { limit: most, batchSize: Math.min(most, 500) }),
      );
      if (found.length < most) return subject;
    }
  }
}

/** The rows of a list that match, at most `limit`. */
export async function readPlaced<Row>(
  kv: Kv,
  query: PlacedQuery,
  keyOf: (place: Place) => KvKey,
  matches: (row: Row) => boolean,
): Promise<Row[]> {
  const found: Row[] = [];
  for (let { after } = query;;) {
    const { places, isAll } = await placesAfter(kv, { ...query, after });
    const rows = await getAll<Row>(kv, places.map(keyOf));
    for (const { value } of rows) if (value !== null && matches(value)) found.push(value);
    if (found.length >= query.limit) return found.slice(0, query.limit);
    if (isAll && places.length < query.limit) return found;
    after = places.at(-1);
  }
}

/** The places after one, in order, at most `limit` of each index. `isAll`: there are no more. */
export async function placesAfter(
  kv: Kv,
  { indexes, from = -Infinity, to = Infinity, after, order, limit }: PlacedQuery,
): Promise<{ places: Place[]; isAll: boolean }> {
  const lists = await Promise.all(indexes.map(async (index) => {
    let start: KvKey = [...index, Math.ceil(from)];
    let end: KvKey = [...index, Math.ceil(to)];
    if (after !== undefined && order === "asc") start = afterKey([...index, ...after]);
    if (after !== undefined && order === "desc") end = [...index, ...after];
    const options = { limit, batchSize: Math.min(limit, 500), reverse: order === "desc" };
    return (await collect(kv.list({ start, end }, options))).map(({ key }) => key.slice(index.length) as Place);
  }));
  const found = lists.flat().sort((a, b) => order === "asc" ? comparePlaces(a, b) : comparePlaces(b, a));
  const places = found.filter((place, at) => at === 0 || comparePlaces(place, found[at - 1]!) !== 0);
  return { places: places.slice(0, limit), isAll: lists.every((list) => list.length < limit) };
}

function comparePlaces(a: Place, b: Place): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : a[at]! < b[at]! ? -1 : 1;
}

import type { Kv } from "../../runtime/kv.ts";
import { type EventFilter, isOwnType, type LoggedEvent, matches, parseEventId } from "../event.ts";
import type { NounDriver } from "../checked_store.ts";
import type { EventQuery, EventStore, LogBounds } from "../store.ts";
import { allOf, anyOf, type Course, type Cursor, following, indexCursor, isBefore } from "./cursors.ts";
import { collect, type DenoKvContext, getAll } from "./database.ts";
import {
  eventKey,
  FORGOTTEN,
  idKey,
  lateKey,
  LOG,
  type LogEntry,
  reachedKey,
  type Subject,
  subjectIndex,
  SUBJECTS,
  typeIndex,
} from "./schema.ts";

type QueryMethods = Pick<NounDriver<EventStore>, "bounds" | "read" | "count" | "get" | "before">;

/** The number of entries of one index in a read. */
const LARGEST_BATCH = 500;

/** A query of the log. */
export function denoKvEventQueries({ kv }: DenoKvContext): QueryMethods {
  /**
   * A query takes several reads. Events that come meanwhile lie after `last`, so they do not belong to it. When the retention
   * job deletes events meanwhile, the query starts over.
   */
  async function whileNothingIsForgotten<T>(read: (bounds: LogBounds) => Promise<T | undefined>): Promise<T> {
    for (;;) {
      const bounds = await readBounds(kv);
      const answer = await read(bounds);
      const { value: forgotten } = await kv.get<number>(FORGOTTEN);
      if (answer !== undefined && (forgotten ?? 0) === bounds.forgotten) return answer;
    }
  }

  return {
    bounds: () => readBounds(kv),
    read: ({ order, limit, ...query }) =>
      whileNothingIsForgotten(async (bounds) => {
        const course = { ...await extent(kv, query, bounds), order, batchSize: Math.min(limit, LARGEST_BATCH) };
        if (isPlain(query.filter)) return await readPlain(kv, course, query, limit);
        const sequences: number[] = [];
        for await (const sequence of sequencesOf(kv, query, course)) {
          sequences.push(sequence);
          if (sequences.length === limit) break;
        }
        const events = (await getAll<LoggedEvent>(kv, sequences.map(eventKey))).map(({ value }) => value);
        return events.every((event) => event !== null) ? events : undefined;
      }),
    count: ({ limit, ...query }) =>
      whileNothingIsForgotten(async (bounds) => {
        const course: Course = { ...await extent(kv, query, bounds), order: "asc", batchSize: LARGEST_BATCH };
        const isAll = query.withOwn || !(await typesOf(kv)).some(isOwnType);
        if (isAll && Object.values(query.filter).every((wanted) => wanted === undefined)) {
          return Math.min(limit, Math.max(0, course.high - course.low + 1));
        }
        let found = 0;
        for await (const _ of sequencesOf(kv, query, course)) {
          found += 1;
          if (found === limit) break;
        }
        return found;
      }),
    async get(id) {
      if (parseEventId(id) === undefined) return undefined;
      const [{ value: sequence }, { value: forgotten }] = await kv.getMany<[number, number]>([idKey(id), FORGOTTEN]);
      // 0: the event is undecoded.
      if (sequence === null || sequence <= (forgotten ?? 0)) return undefined;
      return (await kv.get<LoggedEvent>(eventKey(sequence))).value ?? undefined;
    },
    before: async (height) => await before(kv, height, await readBounds(kv)),
  };
}

async function readBounds(kv: Kv): Promise<LogBounds> {
  const [log, forgotten] = await kv.getMany<[LogEntry, number]>([LOG, FORGOTTEN]);
  return { last: log.value?.last ?? 0, forgotten: forgotten.value ?? 0 };
}

async function before(kv: Kv, height: number, { last, forgotten }: LogBounds): Promise<number> {
  const range = { prefix: ["reached"], start: reachedKey(height) };
  const [first] = await collect(kv.list<number>(range, { limit: 1 }));
  // Events since the read of the bounds lie after them.
  return first === undefined ? last : Math.min(last, Math.max(first.value - 1, forgotten));
}

/** The range of sequences of a query, without the rest of its filter. */
async function extent(
  kv: Kv,
  { filter, after = 0, upTo = Infinity }: EventQuery,
  bounds: LogBounds,
): Promise<{ low: number; high: number }> {
  const tooLow = filter.fromHeight === undefined ? 0 : await before(kv, filter.fromHeight, bounds);
  return { low: Math.max(after, bounds.forgotten, tooLow) + 1, high: Math.min(upTo, bounds.last) };
}

/** Whether (nearly) everything in the range matches. Then the log itself is faster than an index. */
function isPlain({ types, toHeight, ...filter }: EventFilter): boolean {
  return types === undefined && toHeight === undefined && SUBJECTS.every((field) => filter[field] === undefined);
}

async function readPlain(
  kv: Kv,
  course: Course,
  { filter, withOwn }: EventQuery,
  limit: number,
): Promise<LoggedEvent[]> {
  const { low, high, batchSize, order } = course;
  const events: LoggedEvent[] = [];
  if (low > high) return events;
  const range = { start: eventKey(low), end: eventKey(high + 1) };
  for await (const { value } of kv.list<LoggedEvent>(range, { batchSize, reverse: order === "desc" })) {
    if (matches(withOwn ? { ...filter, types: [value.type] } : filter, value)) events.push(value);
    if (events.length === limit) break;
  }
  return events;
}

/** The sequences of the matching events, in order. */
async function* sequencesOf(kv: Kv, query: EventQuery, course: Course): AsyncGenerator<number> {
  const cursor = await cursorOf(kv, query, course);
  const { low, high, order } = course;
  let wanted = order === "asc" ? low : high;
  while (wanted >= low && wanted <= high) {
    const found = cursor.at(wanted);
    if (found === "none") return;
    if (found === "unread") {
      await cursor.read();
      continue;
    }
    yield found;
    wanted = following(course, found);
  }
}

async function typesOf(kv: Kv): Promise<string[]> {
  return (await collect(kv.list({ prefix: ["log_type"] }))).map(({ key }) => key[1] as string);
}

async function cursorOf(kv: Kv, { filter, withOwn }: EventQuery, course: Course): Promise<Cursor> {
  const stored = await typesOf(kv);
  const types = stored.filter((type) => filter.types?.includes(type) ?? (withOwn === true || !isOwnType(type)));
  const subjects = SUBJECTS.filter((field) => filter[field] !== undefined);
  const ofSubject = (field: Subject) =>
    anyOf(types.map((type) => indexCursor(kv, subjectIndex(field, filter[field]!, type), course)), course);
  const cursors = subjects.map(ofSubject);
  // The indexes of subjects include the type.
  if (subjects.length === 0 && types.length < stored.length) {
    cursors.push(anyOf(types.map((type) => indexCursor(kv, typeIndex(type), course)), course));
  }
  return allOf([...cursors, await heightCursor(kv, filter, course)]);
}

/**
 * The events between two heights. Before the first event above `toHeight` all events are below it. After that only late events
 * are below it. The range begins at the first event of `fromHeight`. From there on, all but some late events are above it.
 */
async function heightCursor(kv: Kv, filter: EventFilter, course: Course): Promise<Cursor> {
  const { fromHeight = -Infinity, toHeight = Infinity } = filter;
  const none = { last: Infinity, forgotten: 0 };
  const lastInOrder = toHeight === Infinity ? Infinity : await before(kv, toHeight + 1, none);
  const late = indexCursor<number>(kv, lateKey(0).slice(0, 1), course);
  let lookedTo = course.order === "asc" ? course.low : course.high;
  return {
    at(sequence) {
      if (fromHeight === -Infinity && lastInOrder >= course.high) return sequence;
      let wanted = isBefore(course, lookedTo, sequence) ? sequence : lookedTo;
      while (wanted >= course.low && wanted <= course.high) {
        lookedTo = wanted;
        const found = late.at(wanted);
        // After another call the cursor continues here, and no longer knows the late events before this.
        if (found === "unread") return found;
        const isLate = found === wanted;
        const isIn = isLate ? late.value() >= fromHeight && late.value() <= toHeight : wanted <= lastInOrder;
        if (isIn) return wanted;
        if (wanted <= lastInOrder || isLate) wanted = following(course, wanted);
        else if (course.order === "asc") wanted = found === "none" ? Infinity : found;
        else wanted = Math.max(found === "none" ? 0 : found, lastInOrder);
      }
      return "none";
    },
    read: late.read,
  };
}

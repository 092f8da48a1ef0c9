import type { Row, SqliteStatement } from "../../runtime/sqlite.ts";
import { checkLimit, END_OF_POSITIONS } from "../bounds.ts";
import type { SqliteContext } from "./store.ts";
import type { EventQuery, Store, StoredEvent } from "../store.ts";

const COLUMNS = [
  "position",
  "id",
  "type",
  "contract_id",
  "ledger",
  "ledger_closed_at",
  "tx_hash",
  "device_hash",
  "agent",
  "merchant",
  "amount",
];

/** What `toEvent` reads, of a table of this name. */
export function eventColumns(table: string): string {
  return COLUMNS.map((column) => `${table}.${column}`).join(", ");
}

/** The types there are, by hopping over `event_by_type`: one seek each, however many events they have. */
const TYPES = `
  WITH RECURSIVE held (type) AS (
    SELECT min(type) FROM event
    UNION ALL
    SELECT (SELECT min(type) FROM event WHERE type > held.type) FROM held WHERE held.type IS NOT NULL
  ) SELECT type FROM held WHERE type IS NOT NULL`;

/**
 * Pages of the history. Each reads ranges of one index that hold nothing but matches, in order, so the depth of a page
 * and the rarity of its matches do not matter.
 */
export function sqliteHistory({ database, run }: SqliteContext): Pick<Store, "readEvents"> {
  const typesHeld = database.prepare(TYPES);
  const pages = new Map<string, SqliteStatement>();

  function page(sql: string): SqliteStatement {
    const known = pages.get(sql);
    if (known) return known;
    const statement = database.prepare(sql);
    pages.set(sql, statement);
    return statement;
  }

  return {
    readEvents: (query) =>
      run(() => {
        checkLimit(query.limit, 1_000);
        const isUnfiltered = !query.types && query.deviceHash === undefined && query.merchant === undefined;
        const held = isUnfiltered ? [] : typesHeld.all().map((row) => row.type as string);
        const types = query.types ? held.filter((type) => query.types!.includes(type)) : held;
        if (!isUnfiltered && types.length === 0) return [];
        const { sql, params } = pageQuery(query, isUnfiltered ? undefined : types);
        return page(sql).all(...params).map(toEvent);
      }),
  };
}

/** One page as SQL: without types the table in order, else one range a type, merged by SQLite as it goes. */
export function pageQuery(query: EventQuery, types?: string[]): { sql: string; params: (string | number)[] } {
  const { after = "", upTo = END_OF_POSITIONS, deviceHash, merchant, limit } = query;
  const equal: string[] = [];
  const subjects: string[] = [];
  if (deviceHash !== undefined) {
    equal.push("device_hash = ?");
    subjects.push(deviceHash);
  }
  if (merchant !== undefined) {
    equal.push("merchant = ?");
    subjects.push(merchant);
  }
  const ranges = types ? types.map((type) => [...subjects, type]) : [[]];
  if (types) equal.push("type = ?");
  const where = [...equal, "position > ?", "position <= ?"].join(" AND ");
  const range = `SELECT ${eventColumns("event")} FROM event WHERE ${where}`;
  return {
    sql: `${ranges.map(() => range).join(" UNION ALL ")} ORDER BY position LIMIT ?`,
    params: [...ranges.flatMap((values) => [...values, after, upTo]), limit],
  };
}

/** The decoded event of a row with `eventColumns`. */
export function toEvent(row: Row): StoredEvent {
  const event: StoredEvent = {
    position: row.position as string,
    id: row.id as string,
    type: row.type as string,
    contractId: row.contract_id as string,
    ledger: row.ledger as number,
    ledgerClosedAt: row.ledger_closed_at as string,
    txHash: row.tx_hash as string,
  };
  if (row.device_hash !== null) event.deviceHash = row.device_hash as string;
  if (row.agent !== null) event.agent = row.agent as string;
  if (row.merchant !== null) event.merchant = row.merchant as string;
  if (row.amount !== null) event.amount = row.amount as string;
  return event;
}

import { type EventQueries, sqlEventQueries } from "../sql/event_query.ts";
import type { EventRow, NumberedTexts } from "./event_rows.ts";
import type { SqliteLog } from "./log.ts";
import type { SqliteSql } from "./sql.ts";

/** Each range names its index, so that SQLite uses no other one. */
export function sqliteEventQueries(
  sql: Pick<SqliteSql, "read">,
  types: Pick<NumberedTexts, "find" | "numbers">,
  log: Pick<SqliteLog, "reached">,
): EventQueries<EventRow> {
  const from = (index?: string) => `FROM event ${index === undefined ? "NOT INDEXED" : `INDEXED BY ${index}`}`;
  return sqlEventQueries({
    read: sql.read,
    from,
    sequence: "sequence",
    type: "type",
    isLate: "is_late = 1",
    valueOf: (packed) => packed,
    merge(ranges, order) {
      const selects = ranges.map(({ index, where }) => `SELECT * ${from(index)} WHERE ${where}`);
      return `${selects.join(" UNION ALL ")} ORDER BY sequence ${order} LIMIT ?`;
    },
    limits: 0,
    types,
    log,
  });
}

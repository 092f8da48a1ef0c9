import { type EventQueries, sqlEventQueries } from "../sql/event_query.ts";
import type { PostgresContext } from "./database.ts";
import { columnOf, EVENT_COLUMNS, type EventRow, type NumberedTexts } from "./event_rows.ts";
import type { PostgresLog } from "./log.ts";

/** The sequence as the indexes of types and subjects have it (schema.ts). */
const IN_INDEX = "indexed_sequence";

/** Each range is in a form that only one index can serve (schema.ts). */
export function postgresEventQueries(
  { sql, prefix }: PostgresContext,
  types: NumberedTexts,
  log: PostgresLog,
): EventQueries<EventRow> {
  return sqlEventQueries({
    read: sql.read,
    from: () => `FROM ${prefix}event`,
    sequence: IN_INDEX,
    type: "(type + 0)",
    isLate: "is_late",
    valueOf: columnOf,
    merge(ranges, order) {
      const inOrder = `ORDER BY ${ranges[0]!.index === undefined ? "sequence" : IN_INDEX} ${order} LIMIT ?`;
      // Each range has its own SELECT. In one SELECT the planner does not see that an index has each range in order.
      const selects = ranges.map(({ where }) =>
        `(SELECT ${IN_INDEX}, ${EVENT_COLUMNS} FROM ${prefix}event WHERE ${where} ${inOrder})`
      );
      return `SELECT * FROM (${selects.join(" UNION ALL ")}) AS found ${inOrder}`;
    },
    limits: 1,
    types,
    log,
  });
}

import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent } from "../event.ts";
import { loggedEvent, placedOnce } from "../sql/event_rows.ts";
import { sqlEventReads } from "../sql/events.ts";
import type { EventStore, WatcherState } from "../store.ts";
import { sqliteEventQueries } from "./event_query.ts";
import type { EventRows } from "./event_rows.ts";
import { sqlForget } from "../sql/retention.ts";
import type { SqlLeases } from "../sql/leases.ts";
import type { SqliteLog } from "./log.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** The log. Undecoded events have a table of their own, so that no page of the log passes over them. */
export function sqliteEvents(
  context: SqliteContext,
  log: SqliteLog,
  rows: EventRows,
  leases: SqlLeases,
): NounDriver<EventStore> {
  const { database, sql } = context;
  const queries = sqliteEventQueries(sql, rows.types, log);
  const ofId = "WHERE height = ? AND place = ? AND event_index = ?";
  const isDecoded = database.prepare(`SELECT 1 FROM event ${ofId}`);
  const isUndecoded = database.prepare(`SELECT 1 FROM undecoded_event ${ofId}`);
  const removeUndecoded = database.prepare(`DELETE FROM undecoded_event ${ofId}`);
  const readState = database.prepare<{ state: string }>("SELECT state FROM watcher");
  const writeState = database.prepare("INSERT OR REPLACE INTO watcher (only_row, state) VALUES (1, ?)");

  return {
    watcherState() {
      const row = readState.get();
      return row && JSON.parse(row.state) as WatcherState;
    },
    append: ({ lease, events, state, after }) =>
      database.transaction(() => {
        sql.run(leases.fence([lease]));
        if (after !== undefined && log.bounds().last === 0) log.begin(after);
        const next = log.append();
        const appended: LoggedEvent[] = [];
        for (const { event, id } of placedOnce(events)) {
          const columns = rowValues(id);
          if (isDecoded.get(...columns) !== undefined) continue;
          if (event.type !== null) {
            removeUndecoded.run(...columns);
            const at = next(id.height);
            rows.insert(event, id, at);
            appended.push(loggedEvent(event, at.sequence));
          } else if (isUndecoded.get(...columns) === undefined) rows.insertUndecoded(event, id);
        }
        writeState.run(JSON.stringify(state));
        return appended;
      }),
    bounds: log.bounds,
    ...sqlEventReads(sql, { reader: rows, queries, columns: "*" }),
    before: log.before,
    forget: sqlForget(context),
  };
}

import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent, NewEvent } from "../event.ts";
import { type IdColumns, loggedEvent, requireId } from "../sql/event_rows.ts";
import { sqlEventReads } from "../sql/events.ts";
import type { EventStore, Lease, WatcherState } from "../store.ts";
import { sqliteEventQueries } from "./event_query.ts";
import type { EventRows } from "./event_rows.ts";
import { sqliteForget } from "./retention.ts";
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
  const { database } = context;
  const queries = sqliteEventQueries(context.sql, rows.types, log);
  const ofId = "WHERE height = ? AND place = ? AND event_index = ?";
  const isDecoded = database.prepare(`SELECT 1 FROM event ${ofId}`);
  const isUndecoded = database.prepare(`SELECT 1 FROM undecoded_event ${ofId}`);
  const removeUndecoded = database.prepare(`DELETE FROM undecoded_event ${ofId}`);
  const readState = database.prepare<{ state: string }>("SELECT state FROM watcher");
  const writeState = database.prepare("INSERT OR REPLACE INTO watcher (only_row, state) VALUES (1, ?)");

  /** Appends events under a lease, in one commit. `work` passes each new event to `appendOne`. Returns these events. */
  function append(
    lease: Lease,
    after: number | undefined,
    work: (appendOne: (event: NewEvent, id: IdColumns) => void) => void,
  ): LoggedEvent[] {
    return database.transaction(() => {
      context.sql.run(leases.fence([lease]));
      if (after !== undefined && log.bounds().last === 0) log.forget(after);
      const next = log.append();
      const appended: LoggedEvent[] = [];
      work((event, id) => {
        const at = next(id.height);
        rows.insert(event, id, at);
        appended.push(loggedEvent(event, at.sequence));
      });
      return appended;
    });
  }

  return {
    watcherState() {
      const row = readState.get();
      return row && JSON.parse(row.state) as WatcherState;
    },
    append: ({ lease, events, state, after }) =>
      append(lease, after, (appendOne) => {
        for (const event of events) {
          const id = requireId(event.id);
          const columns = rowValues(id);
          if (isDecoded.get(...columns) !== undefined || isUndecoded.get(...columns) !== undefined) continue;
          if (event.type === null) rows.insertUndecoded(event, id);
          else appendOne(event, id);
        }
        writeState.run(JSON.stringify(state));
      }),
    bounds: log.bounds,
    ...sqlEventReads(context.sql, { reader: rows, queries, columns: "*" }),
    before: log.before,
    appendDecoded: ({ lease, events }) =>
      append(lease, undefined, (appendOne) => {
        for (const event of events) {
          const id = requireId(event.id);
          if (removeUndecoded.run(...rowValues(id)).changes > 0) appendOne(event, id);
        }
      }),
    forget: sqliteForget(context, log),
  };
}

import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent, NewEvent } from "../event.ts";
import { type IdColumns, idColumns, requireId } from "../sql/event_rows.ts";
import type { EventStore, Lease, WatcherState } from "../store.ts";
import { sqliteEventQueries } from "./event_query.ts";
import type { EventRow, EventRows, UndecodedRow } from "./event_rows.ts";
import { sqliteForget } from "./retention.ts";
import type { SqliteLeases } from "./leases.ts";
import type { SqliteLog } from "./log.ts";
import { unixSeconds } from "../codec.ts";
import { rowValues, type SqliteContext } from "./database.ts";

/** The log. Undecoded events have a table of their own, so that no page of the log passes over them. */
export function sqliteEvents(
  context: SqliteContext,
  log: SqliteLog,
  rows: EventRows,
  leases: SqliteLeases,
): NounDriver<EventStore> {
  const { database } = context;
  const queries = sqliteEventQueries(database, rows.types, log);
  const ofId = "WHERE height = ? AND place = ? AND event_index = ?";
  const select = database.prepare<EventRow>(`SELECT * FROM event ${ofId}`);
  const isDecoded = database.prepare(`SELECT 1 FROM event ${ofId}`);
  const isUndecoded = database.prepare(`SELECT 1 FROM undecoded_event ${ofId}`);
  const removeUndecoded = database.prepare(`DELETE FROM undecoded_event ${ofId}`);
  const listUndecoded = database.prepare<UndecodedRow>(`
    SELECT * FROM undecoded_event WHERE (height, place, event_index) > (?, ?, ?)
    ORDER BY height, place, event_index LIMIT ?`);
  const forgetUndecoded = database.prepare(`
    DELETE FROM undecoded_event WHERE rowid IN
      (SELECT rowid FROM undecoded_event WHERE closed_at < ? ORDER BY closed_at LIMIT 200)`);
  const readState = database.prepare<{ state: string }>("SELECT state FROM watcher");
  const writeState = database.prepare("INSERT OR REPLACE INTO watcher (only_row, state) VALUES (1, ?)");

  /** Does this under a lease, in one commit, handing it what gives an event its place in the log; answers those events. */
  function append(
    lease: Lease,
    after: number | undefined,
    work: (appendOne: (event: NewEvent, id: IdColumns) => void) => void,
  ): LoggedEvent[] {
    const added = database.transaction(() => {
      leases.fence([lease]);
      if (after !== undefined && log.bounds().last === 0) log.forget(after);
      const next = log.append();
      const appended: EventRow[] = [];
      work((event, id) => {
        rows.insert(event, id, next(id.height));
        appended.push(select.get(...rowValues(id))!);
      });
      return appended;
    });
    return added.map(rows.toEvent);
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
    read: (query) => queries.select(query).map(rows.toEvent),
    count: queries.count,
    get(id) {
      const columns = idColumns(id);
      const row = columns && select.get(...rowValues(columns));
      return row && rows.toEvent(row);
    },
    before: log.before,
    undecoded({ after, limit }) {
      const from = after === undefined ? [-1, 0, 0] : rowValues(requireId(after));
      return listUndecoded.all(...from, limit).map(rows.toUndecoded);
    },
    appendDecoded: ({ lease, events }) =>
      append(lease, undefined, (appendOne) => {
        for (const event of events) {
          const id = requireId(event.id);
          if (removeUndecoded.run(...rowValues(id)).changes > 0) appendOne(event, id);
        }
      }),
    forget: sqliteForget(context, log),
    forgetUndecoded: (closedBefore) => forgetUndecoded.run(unixSeconds(closedBefore)).changes,
  };
}

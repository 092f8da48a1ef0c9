import type { NounDriver } from "../checked_store.ts";
import type { LoggedEvent, NewEvent, UndecodedEvent } from "../event.ts";
import { loggedEvent, type Placed, placedOnce } from "../sql/event_rows.ts";
import { sqlEventReads } from "../sql/events.ts";
import type { EventStore, WatcherState } from "../store.ts";
import { givenRows, type PostgresContext, type Queries } from "./database.ts";
import { postgresEventQueries } from "./event_query.ts";
import { EVENT_COLUMNS, type EventRows } from "./event_rows.ts";
import { sqlForget } from "../sql/retention.ts";
import type { SqlLeases } from "../sql/leases.ts";
import { runWork } from "./sql.ts";
import { type Appending, newestRow, type PostgresLog, type PostgresNotifications } from "./log.ts";

const GIVEN = givenRows("n integer, height bigint, place bigint, event_index bigint");
const IS_GIVEN = "kept.height = given.height AND kept.place = given.place AND kept.event_index = given.event_index";

/** The log. Undecoded events have a table of their own, so that no page of the log passes over them. */
export function postgresEvents(
  context: PostgresContext,
  log: PostgresLog,
  rows: EventRows,
  leases: SqlLeases,
  notifications: PostgresNotifications,
): NounDriver<EventStore> {
  const { database, prefix } = context;
  const queries = postgresEventQueries(context, rows.types, log);
  /** One SELECT for each event: a plan from the time of an empty log would read the whole log. */
  const storedSql = `SELECT given.n, stored.is_undecoded FROM ${GIVEN} CROSS JOIN LATERAL (
      (SELECT false AS is_undecoded FROM ${prefix}event AS kept WHERE ${IS_GIVEN} LIMIT 1) UNION ALL
      (SELECT true FROM ${prefix}undecoded_event AS kept WHERE ${IS_GIVEN} LIMIT 1)
    ) AS stored`;
  const removeUndecoded = `DELETE FROM ${prefix}undecoded_event AS kept USING ${GIVEN} WHERE ${IS_GIVEN}`;

  async function write(
    inside: Queries,
    appending: Appending,
    added: Placed<NewEvent | UndecodedEvent>[],
  ): Promise<LoggedEvent[]> {
    const decoded: (Placed<NewEvent> & { sequence: number; isLate: boolean })[] = [];
    const undecoded: Placed<UndecodedEvent>[] = [];
    for (const { event, id } of added) {
      if (event.type === null) undecoded.push({ event, id });
      else decoded.push({ event, id, ...appending.next(id.height) });
    }
    await Promise.all([rows.insert(inside, decoded), rows.insertUndecoded(inside, undecoded), appending.end()]);
    return decoded.map(({ event, sequence }) => loggedEvent(event, sequence));
  }

  return {
    async watcherState() {
      const [row] = await database.read<{ state: string | null }>(`SELECT state FROM ${newestRow(prefix, "watcher")}`);
      return row!.state === null ? undefined : JSON.parse(row!.state) as WatcherState;
    },
    async append({ lease, events, state, after }) {
      const placed = placedOnce(events);
      const numbered = placed.map(({ id }, n) => ({ n, ...id }));
      const logged = await database.transaction(async (inside) => {
        const [, appending, stored] = await Promise.all([
          runWork(inside, leases.fence([lease])),
          log.append(inside, after),
          inside.read<{ n: number; is_undecoded: boolean }>(storedSql, [numbered]),
        ]);
        const replaced = stored.filter(({ n, is_undecoded }) => is_undecoded && placed[n]!.event.type !== null);
        const known = new Set(stored.filter((one) => !replaced.includes(one)).map(({ n }) => n));
        const [written] = await Promise.all([
          write(inside, appending, placed.filter((_, n) => !known.has(n))),
          replaced.length > 0 && inside.write(removeUndecoded, [replaced.map(({ n }) => numbered[n]!)]),
          inside.write(
            `UPDATE ${prefix}watcher SET version = version + 1, state = $1
            WHERE version = (SELECT max(version) FROM ${prefix}watcher)`,
            [JSON.stringify(state)],
          ),
        ]);
        return written;
      });
      if (logged.length > 0) notifications.notify();
      return logged;
    },
    bounds: () => log.bounds(),
    ...sqlEventReads(context.sql, { reader: rows, queries, columns: EVENT_COLUMNS }),
    before: log.before,
    forget: sqlForget(context),
  };
}

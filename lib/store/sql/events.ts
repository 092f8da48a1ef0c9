import type { NounDriver } from "../checked_store.ts";
import { unixSeconds } from "../codec.ts";
import type { EventStore } from "../store.ts";
import type { Sql } from "./database.ts";
import type { EventQueries } from "./event_query.ts";
import { type EventReader, type EventRow, idColumns, requireId, type UndecodedRow } from "./event_rows.ts";

/** How a driver reads events. */
interface EventReadParts<Row, Packed> {
  reader: EventReader<Row, Packed>;
  queries: EventQueries<Row>;
  /** The columns of an event row. */
  columns: string;
}

/** The reads of the log, and of undecoded events. They have a table of their own, so no page of the log passes over them. */
export function sqlEventReads<Row extends EventRow<Packed>, Packed>(
  sql: Sql,
  { reader, queries, columns }: EventReadParts<Row, Packed>,
): Pick<NounDriver<EventStore>, "read" | "count" | "get" | "undecoded" | "forgetUndecoded"> {
  const table = `${sql.prefix}undecoded_event`;
  const select = sql.prepare<Row>(
    `SELECT ${columns} FROM ${sql.prefix}event WHERE height = $1 AND place = $2 AND event_index = $3`,
  );
  const list = sql.prepare<UndecodedRow<Packed>>(
    `SELECT contract, height, place, event_index, closed_at, tx_hash, raw FROM ${table}
    WHERE (height, place, event_index) > ($1, $2, $3) ORDER BY height, place, event_index LIMIT $4`,
  );
  const forget = sql.prepare(
    `DELETE FROM ${table} WHERE (height, place, event_index) IN
      (SELECT height, place, event_index FROM ${table} WHERE closed_at < $1 ORDER BY closed_at LIMIT 200)`,
  );

  return {
    read: async (query) => await reader.toEvents(await queries.select(query)),
    count: queries.count,
    async get(id) {
      const of = idColumns(id);
      if (of === undefined) return undefined;
      return (await reader.toEvents(await sql.read(select(of.height, of.place, of.event_index))))[0];
    },
    async undecoded({ after, limit }) {
      const of = after === undefined ? { height: -1, place: 0, event_index: 0 } : requireId(after);
      return await reader.toUndecoded(await sql.read(list(of.height, of.place, of.event_index, limit)));
    },
    forgetUndecoded: async (closedBefore) => (await sql.write(forget(unixSeconds(closedBefore)))).count,
  };
}

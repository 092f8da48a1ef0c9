import type { NounDriver } from "../checked_store.ts";
import { heightOf, parseEventId } from "../event.ts";
import {
  PAYMENT_STATES,
  PAYMENT_SUBJECTS,
  type PaymentFilter,
  type PaymentPlace,
  type PaymentQuery,
  type PaymentsCursor,
  type PaymentStore,
  type PaymentSubject,
  type StoredPayment,
} from "../payment.ts";
import { type Parameter, send, type SqlContext } from "./database.ts";
import type { SqlLeases } from "./leases.ts";

const COLUMNS = "place, id, state, merchant, device_hash, agent, in_index, due_for, due_ledger, owes, payment";
const TYPES =
  "place text, id text, state text, merchant text, device_hash text, agent text, in_index text, due_for text, " +
  "due_ledger bigint, owes bigint, payment text";
const COLUMN_OF: Record<PaymentSubject, string> = { merchant: "merchant", deviceHash: "device_hash", agent: "agent" };
const FORGOTTEN_AT_ONCE = 200;

interface PaymentRow {
  /** JSON: `StoredPayment`. */
  payment: string;
}

/** Payments and their projection's cursor. */
export function sqlPayments({ sql }: SqlContext, leases: SqlLeases): NounDriver<PaymentStore> {
  const { prefix, prepare } = sql;
  const table = `${prefix}payment`;
  const write = prepare(
    `INSERT INTO ${table} (${COLUMNS}) SELECT ${COLUMNS} FROM ${sql.given(TYPES)} WHERE true
    ON CONFLICT (place) DO UPDATE SET state = excluded.state, agent = excluded.agent, due_for = excluded.due_for,
      due_ledger = excluded.due_ledger, owes = excluded.owes, payment = excluded.payment`,
  );
  const writeCursor = prepare(
    `INSERT INTO ${prefix}payments_cursor (only_row, cursor) VALUES (1, $1)
    ON CONFLICT (only_row) DO UPDATE SET cursor = excluded.cursor`,
  );
  const readCursor = prepare<{ cursor: string }>(`SELECT cursor FROM ${prefix}payments_cursor`);
  const select = prepare<PaymentRow>(`SELECT payment FROM ${table} WHERE id = $1`);
  const selectDue = prepare<PaymentRow>(
    `SELECT payment FROM ${table} WHERE due_for = $1 AND due_ledger <= $2 ORDER BY due_ledger LIMIT $3`,
  );
  const selectOwing = prepare<PaymentRow>(`SELECT payment FROM ${table} WHERE owes = 1 LIMIT $1`);
  const remove = prepare(
    `DELETE FROM ${table} WHERE place IN (SELECT place FROM ${table} WHERE place < $1 ORDER BY place
      LIMIT ${FORGOTTEN_AT_ONCE})`,
  );

  /** The named subject with the fewest payments. It counts ever more payments of each. */
  async function rarest(filter: PaymentFilter): Promise<PaymentSubject | undefined> {
    const named = PAYMENT_SUBJECTS.filter((subject) => filter[subject] !== undefined);
    if (named.length < 2) return named[0];
    for (let most = 64;; most *= 8) {
      for (const subject of named) {
        const column = COLUMN_OF[subject];
        const few = `SELECT 1 AS one FROM ${table} WHERE ${column} = $1 ORDER BY state, in_index LIMIT ${most}`;
        const text = `SELECT count(*) AS n FROM (${few}) AS few`;
        const [row] = await sql.read<{ n: number }>({ text, parameters: [filter[subject]!] });
        if (row!.n < most) return subject;
      }
    }
  }

  return {
    async commit({ lease, rows, cursor }) {
      await sql.transaction(function* () {
        yield* leases.fence([lease]);
        yield* send(
          ...(rows.length === 0 ? [] : [write(rows.map(rowOf))]),
          ...(cursor === undefined ? [] : [writeCursor(JSON.stringify(cursor))]),
        );
      });
    },
    async cursor() {
      const [row] = await sql.read(readCursor());
      return row && JSON.parse(row.cursor) as PaymentsCursor;
    },
    async get(id) {
      const [row] = await sql.read(select(id));
      return row && JSON.parse(row.payment) as StoredPayment;
    },
    async list(query) {
      const subject = await rarest(query.filter);
      return parsed(await sql.read<PaymentRow>(listStatement(table, query, subject)));
    },
    due: async ({ for: what, upToLedger, limit }) => parsed(await sql.read(selectDue(what, upToLedger, limit))),
    owing: async ({ limit }) => parsed(await sql.read(selectOwing(limit))),
    forget: async (authorizedBefore) => (await sql.write(remove(placeOfTime(authorizedBefore)))).count,
  };
}

function parsed(rows: PaymentRow[]): StoredPayment[] {
  return rows.map(({ payment }) => JSON.parse(payment));
}

/**
 * Reads one range of an index for each state, because every subject's index has the state before the place. In a range all
 * payments match, except for further subjects.
 */
function listStatement(table: string, query: PaymentQuery, subject: PaymentSubject | undefined) {
  const { filter, order, after, limit } = query;
  const parameters: Parameter[] = [];
  const given = (value: Parameter) => `$${parameters.push(value)}`;
  const most = given(limit);
  const { from, to } = filter;
  const place = subject === undefined && filter.state === undefined ? "place" : "in_index";
  const bounds = [
    ...(from === undefined ? [] : [`${place} >= ${given(placeOfTime(from))}`]),
    ...(to === undefined ? [] : [`${place} < ${given(placeOfTime(to))}`]),
    ...(after === undefined ? [] : [`${place} ${order === "asc" ? ">" : "<"} ${given(placeOf(after))}`]),
  ];
  const others = PAYMENT_SUBJECTS.filter((other) => other !== subject && filter[other] !== undefined)
    .map((other) => `${COLUMN_OF[other]} IS NOT DISTINCT FROM ${given(filter[other]!)}`);
  const own = subject === undefined ? [] : [`${COLUMN_OF[subject]} = ${given(filter[subject]!)}`];
  const states = filter.state !== undefined ? [filter.state] : place === "place" ? [undefined] : PAYMENT_STATES;
  const ranges = states.map((state, at) => {
    const where = [...own, ...(state === undefined ? [] : [`state = ${given(state)}`]), ...bounds, ...others];
    return `SELECT * FROM (SELECT place, payment FROM ${table}
      ${
      where.length === 0 ? "" : `WHERE ${where.join(" AND ")}`
    } ORDER BY ${place} ${order} LIMIT ${most}) AS range_${at}`;
  });
  return { text: `${ranges.join(" UNION ALL ")} ORDER BY place ${order} LIMIT ${most}`, parameters };
}

function rowOf(payment: StoredPayment) {
  const { id, state, merchant, deviceHash, agent = null, due } = payment;
  const place = placeOf(payment);
  return {
    ...{ place, id, state, merchant, device_hash: deviceHash, agent, in_index: place },
    due_for: due?.for ?? null,
    due_ledger: due?.ledger ?? null,
    owes: payment.owes === undefined ? null : 1,
    payment: JSON.stringify(payment),
  };
}

/** Texts in the order of time and id. */
function placeOf({ authorizedAt, id }: PaymentPlace): string {
  const { epoch, ledger, order, index } = parseEventId(id)!;
  const parts = [heightOf(epoch, ledger).toString(16).padStart(14, "0"), ...[order, index].map(hex)];
  return [placeOfTime(authorizedAt), ...parts].join("-");
}

const hex = (number: number) => number.toString(16).padStart(8, "0");

/** Before every payment of this time. */
function placeOfTime(seconds: number): string {
  return Math.max(0, Math.ceil(seconds)).toString(16).padStart(10, "0");
}

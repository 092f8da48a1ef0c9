import type { NounDriver } from "../checked_store.ts";
import { heightOf, parseEventId } from "../event.ts";
import {
  PAYMENT_STATES,
  PAYMENT_SUBJECTS,
  type PaymentPlace,
  type PaymentQuery,
  type PaymentsCursor,
  type PaymentStore,
  type PaymentSubject,
  type StoredPayment,
} from "../payment.ts";
import { send, type SqlContext } from "./database.ts";
import type { SqlLeases } from "./leases.ts";
import { type PlacedQuery, type PlacedTable, readPlaced } from "./placed_list.ts";

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
  const listed: PlacedTable = {
    ...{ name: "payment", selected: "payment", state: "state", states: PAYMENT_STATES },
    ...{ inIndex: "in_index", isOwnKey: true },
  };
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
      return parsed(await readPlaced<PaymentRow>(sql, listed, placedQuery(query)));
    },
    due: async ({ for: what, upToLedger, limit }) => parsed(await sql.read(selectDue(what, upToLedger, limit))),
    owing: async ({ limit }) => parsed(await sql.read(selectOwing(limit))),
    forget: async (authorizedBefore) => (await sql.write(remove(placeOfTime(authorizedBefore)))).count,
  };
}

function parsed(rows: PaymentRow[]): StoredPayment[] {
  return rows.map(({ payment }) => JSON.parse(payment));
}

function placedQuery({ filter, order, after, limit }: PaymentQuery): PlacedQuery {
  const { state, from, to } = filter;
  const bound = (seconds: number | undefined) => seconds === undefined ? undefined : placeOfTime(seconds);
  const subjects = PAYMENT_SUBJECTS.flatMap((subject) => {
    const value = filter[subject];
    return value === undefined ? [] : [[COLUMN_OF[subject], value] as const];
  });
  const [first, end, last] = [bound(from), bound(to), after && placeOf(after)];
  return { subjects, state, from: first, to: end, after: last, order, limit };
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

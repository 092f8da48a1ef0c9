import type { KvKey } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import {
  matchesPayment,
  PAYMENT_STATES,
  PAYMENT_SUBJECTS,
  type PaymentsCursor,
  type PaymentState,
  type PaymentStore,
  type PaymentSubject,
  type StoredPayment,
} from "../payment.ts";
import { chunks, collect, commit, type DenoKvContext, getAll, MAX_CHECKS, present } from "./database.ts";
import { readPieces, toPieces } from "./database.ts";
import { checkOwn } from "./leases.ts";
import { placesAfter, rarest, readPlaced } from "./placed_list.ts";
import {
  type LeaseEntry,
  leaseKey,
  paymentDueIndex,
  paymentIndex,
  paymentKey,
  paymentKeyAt,
  paymentPlace,
  PAYMENTS_CURSOR,
  PAYMENTS_OWING,
  paymentSubjectIndex,
} from "./schema.ts";

const FORGOTTEN_AT_ONCE = 200;
/** A row has at most 19 keys, with four for each state, and a commit takes 1 000 writes. */
const FORGOTTEN_PER_COMMIT = 50;

/** Payments and their projection's cursor. */
export function denoKvPayments({ kv, location, retry }: DenoKvContext): NounDriver<PaymentStore> {
  const rowOf = (id: string) => kv.get<StoredPayment>(paymentKey(id));

  /**
   * Deletes index entries of former rows. A commit has no room for them. Until then a list passes over them, because the
   * row says otherwise.
   */
  async function unlist(former: StoredPayment[]): Promise<void> {
    for (const some of chunks(former, MAX_CHECKS)) {
      const entries = await getAll<StoredPayment>(kv, some.map(({ id }) => paymentKey(id)));
      const atomic = kv.atomic().check(...entries);
      some.forEach((row, index) => {
        const now = entries[index]!.value;
        const kept = new Set((now === null ? [] : allKeys(now)).map(nameOf));
        for (const key of allKeys(row)) if (!kept.has(nameOf(key))) atomic.delete(key);
      });
      await commit(atomic);
    }
  }

  /** The rows that these index entries name, as far as they are still what the entries say. */
  async function indexed(
    entries: AsyncIterable<{ key: KvKey }>,
    isStill: (row: StoredPayment) => boolean,
  ): Promise<StoredPayment[]> {
    const keys = (await collect(entries)).map(({ key }) => paymentKeyAt(key.slice(-4) as number[]));
    const rows = await getAll<StoredPayment>(kv, keys);
    return rows.flatMap(({ value }) => value !== null && isStill(value) ? [value] : []);
  }

  return {
    async commit({ lease, rows, cursor }) {
      const changed = await retry(async () => {
        const held = await kv.get<LeaseEntry>(leaseKey(lease.name));
        checkOwn(location, [lease], [held]);
        const before = await getAll<StoredPayment>(kv, rows.map(({ id }) => paymentKey(id)));
        const atomic = kv.atomic().check(held);
        for (const row of rows) {
          atomic.set(paymentKey(row.id), present(row));
          for (const key of allKeys(row)) atomic.set(key, true);
        }
        for (const { key, value } of cursor === undefined ? [] : toPieces(PAYMENTS_CURSOR, cursor)) {
          atomic.set(key, value);
        }
        const former = before.flatMap(({ value }) => value ?? []);
        return await commit(atomic) ? { done: former } : undefined;
      });
      await unlist(changed);
    },
    cursor: () => readPieces<PaymentsCursor>(kv, PAYMENTS_CURSOR),
    get: async (id) => (await rowOf(id)).value ?? undefined,
    async list(query) {
      const { filter, after, ...range } = query;
      const named = PAYMENT_SUBJECTS.filter((subject) => filter[subject] !== undefined);
      const indexOf = (subject: PaymentSubject) => paymentSubjectIndex(subject, filter[subject]!);
      const subject = await rarest(kv, named, indexOf);
      const indexes = (filter.state === undefined ? PAYMENT_STATES : [filter.state])
        .map((state) => subject === undefined ? paymentIndex(state) : [...indexOf(subject), state]);
      const placed = { ...range, indexes, from: filter.from, to: filter.to, after: after && paymentPlace(after) };
      return await readPlaced<StoredPayment>(kv, placed, paymentKeyAt, (row) => matchesPayment(filter, row));
    },
    due({ for: what, upToLedger, limit }) {
      const [start, end] = [0, upToLedger + 1].map((ledger) => paymentDueIndex({ for: what, ledger }));
      const entries = kv.list({ start: start!, end: end! }, { limit, batchSize: Math.min(limit, 500) });
      return indexed(entries, ({ due }) => due?.for === what && due.ledger <= upToLedger);
    },
    owing({ limit }) {
      const entries = kv.list({ prefix: PAYMENTS_OWING }, { limit, batchSize: Math.min(limit, 500) });
      return indexed(entries, ({ owes }) => owes !== undefined);
    },
    async forget(authorizedBefore) {
      const query = { indexes: PAYMENT_STATES.map(paymentIndex), to: authorizedBefore, limit: FORGOTTEN_AT_ONCE };
      const { places } = await placesAfter(kv, { ...query, order: "asc" });
      const rows = await getAll<StoredPayment>(kv, places.map(paymentKeyAt));
      for (const some of chunks(rows.flatMap(({ value }) => value ?? []), FORGOTTEN_PER_COMMIT)) {
        const atomic = kv.atomic();
        for (const row of some) {
          atomic.delete(paymentKey(row.id));
          for (const key of otherKeys(row)) atomic.delete(key);
          for (const state of PAYMENT_STATES) for (const key of indexKeys(row, state)) atomic.delete(key);
        }
        await commit(atomic);
      }
      return places.length;
    },
  };
}

/** The index entries of a payment in a state: at most four keys. */
function indexKeys(row: StoredPayment, state: PaymentState): KvKey[] {
  const bySubject = PAYMENT_SUBJECTS.flatMap((subject) => {
    const value = row[subject];
    return value === undefined ? [] : [[...paymentSubjectIndex(subject, value), state]];
  });
  return [paymentIndex(state), ...bySubject].map((prefix) => [...prefix, ...paymentPlace(row)]);
}

/** The entries that say what is to be done with a payment: at most two keys. */
function otherKeys(row: StoredPayment): KvKey[] {
  const keys = [
    ...(row.due === undefined ? [] : [paymentDueIndex(row.due)]),
    ...(row.owes === undefined ? [] : [PAYMENTS_OWING]),
  ];
  return keys.map((prefix) => [...prefix, ...paymentPlace(row)]);
}

const allKeys = (row: StoredPayment) => [...indexKeys(row, row.state), ...otherKeys(row)];

const nameOf = (key: KvKey) => key.map(String).join(" ");

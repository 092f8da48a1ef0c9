import type { KvKey } from "../../runtime/kv.ts";
import type { NounDriver } from "../checked_store.ts";
import { formatEventId, ledgerOfHeight, LEDGERS_PER_EPOCH } from "../event.ts";
import {
  matchesPayment,
  PAYMENT_STATES,
  PAYMENT_SUBJECTS,
  type PaymentFilter,
  type PaymentPlace,
  type PaymentQuery,
  type PaymentsCursor,
  type PaymentState,
  type PaymentStore,
  type PaymentSubject,
  type StoredPayment,
} from "../payment.ts";
import { afterKey, chunks, collect, commit, type DenoKvContext, getAll, MAX_CHECKS, present } from "./database.ts";
import { readPieces, toPieces } from "./database.ts";
import { checkOwn } from "./leases.ts";
import {
  type LeaseEntry,
  leaseKey,
  paymentDueIndex,
  paymentIndex,
  paymentKey,
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
    const ids = (await collect(entries)).map(({ key }) => placeOfKey(key.slice(-4) as number[]).id);
    const rows = await getAll<StoredPayment>(kv, ids.map(paymentKey));
    return rows.flatMap(({ value }) => value !== null && isStill(value) ? [value] : []);
  }

  /** The named subject with the fewest payments. It counts ever more payments of each. */
  async function rarest(filter: PaymentFilter): Promise<PaymentSubject | undefined> {
    const named = PAYMENT_SUBJECTS.filter((subject) => filter[subject] !== undefined);
    if (named.length < 2) return named[0];
    for (let most = 64;; most *= 8) {
      for (const subject of named) {
        const prefix = paymentSubjectIndex(subject, filter[subject]!);
        const found = await collect(kv.list({ prefix }, { limit: most, batchSize: Math.min(most, 500) }));
        if (found.length < most) return subject;
      }
    }
  }

  /** The ids after a place, in order, at most `limit` of each index. `isAll`: there are no more. */
  async function idsAfter(prefixes: KvKey[], query: PaymentQuery, after: PaymentPlace | undefined) {
    const { filter: { from, to }, order, limit } = query;
    const lists = await Promise.all(prefixes.map(async (prefix) => {
      let start = [...prefix, Math.max(0, Math.ceil(from ?? 0))];
      let end = [...prefix, Math.ceil(to ?? Number.MAX_SAFE_INTEGER)];
      if (after !== undefined && order === "asc") start = afterKey([...prefix, ...paymentPlace(after)]) as typeof start;
      if (after !== undefined && order === "desc") end = [...prefix, ...paymentPlace(after)];
      const range = { start, end };
      const options = { limit, batchSize: Math.min(limit, 500), reverse: order === "desc" };
      return (await collect(kv.list(range, options))).map(({ key }) => key.slice(prefix.length) as number[]);
    }));
    const found = lists.flat().sort((a, b) => order === "asc" ? comparePlaces(a, b) : comparePlaces(b, a));
    const places = found.filter((place, at) => at === 0 || comparePlaces(place, found[at - 1]!) !== 0);
    return { places: places.slice(0, limit).map(placeOfKey), isAll: lists.every((list) => list.length < limit) };
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
      const { filter, limit } = query;
      const subject = await rarest(filter);
      const states = filter.state === undefined ? PAYMENT_STATES : [filter.state];
      const prefixes = states.map((state) =>
        subject === undefined ? paymentIndex(state) : [...paymentSubjectIndex(subject, filter[subject]!), state]
      );
      const found: StoredPayment[] = [];
      for (let after = query.after;;) {
        const { places, isAll } = await idsAfter(prefixes, query, after);
        const rows = await getAll<StoredPayment>(kv, places.map(({ id }) => paymentKey(id)));
        for (const { value } of rows) if (value !== null && matchesPayment(filter, value)) found.push(value);
        if (found.length >= limit) return found.slice(0, limit);
        if (isAll && places.length < limit) return found;
        after = places.at(-1);
      }
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
      const query = { filter: { to: authorizedBefore }, order: "asc", limit: FORGOTTEN_AT_ONCE } as const;
      const { places } = await idsAfter(PAYMENT_STATES.map(paymentIndex), query, undefined);
      const rows = await getAll<StoredPayment>(kv, places.map(({ id }) => paymentKey(id)));
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

function comparePlaces(a: number[], b: number[]): number {
  const at = a.findIndex((part, index) => part !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function placeOfKey([authorizedAt, height, order, index]: number[]): PaymentPlace {
  const [epoch, ledger] = [Math.floor(height! / LEDGERS_PER_EPOCH), ledgerOfHeight(height!)];
  return { authorizedAt: authorizedAt!, id: formatEventId({ epoch, ledger, order: order!, index: index! }) };
}

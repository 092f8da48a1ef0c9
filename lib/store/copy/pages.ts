import type { Store } from "../store.ts";
import {
  COPY_REGISTER,
  type HiddenKind,
  type HiddenRecords,
  KEY_OF,
  type TransferKey,
  type TransferKind,
  type TransferRecords,
} from "../transfer.ts";

/** Records that are read, and written, at a time. */
const PAGE = 500;
/** What the store hands out at a time of these. */
const UNDECODED_PAGE = 100;
const ATTEMPT_PAGE = 200;

type Pages<T> = AsyncGenerator<T[], void, undefined>;
type ReadPages<T> = (store: Store, after: TransferKey) => Pages<T>;

/** How all of a kind is read, after a key. */
const PAGES: { [Kind in TransferKind]: ReadPages<TransferRecords[Kind]> } = {
  log: hidden("log", KEY_OF.log),
  keys: paged(KEY_OF.keys, ({ keys }, [after]) => keys.list({ after: after as string, limit: PAGE })),
  buckets: bucketPages,
  submissions: hidden("submissions", KEY_OF.submissions),
  intents: hidden("intents", KEY_OF.intents),
  transactionIntents: hidden("transactionIntents", KEY_OF.transactionIntents),
  nonces: hidden("nonces", KEY_OF.nonces),
  registers: registerPages,
  events: paged(
    KEY_OF.events,
    ({ events }, [after = 0]) => events.read({ filter: {}, after: after as number, order: "asc", limit: PAGE }),
  ),
  undecoded: paged(
    KEY_OF.undecoded,
    ({ events }, [after]) => events.undecoded({ after: after as string, limit: UNDECODED_PAGE }),
  ),
  subscriptions: paged(KEY_OF.subscriptions, readersAfter),
  failedDeliveries: hidden("failedDeliveries", KEY_OF.failedDeliveries),
  attempts: attemptPages,
  store: hidden("store", KEY_OF.store),
};

/** All records of a kind after this key (`[]`: all), in pages none of which is empty. */
export function pagesOf<Kind extends TransferKind>(
  store: Store,
  kind: Kind,
  after: TransferKey = [],
): Pages<TransferRecords[Kind]> {
  return (PAGES[kind] as ReadPages<TransferRecords[Kind]>)(store, after);
}

/** Reads page after page until one is empty. */
function paged<T>(
  keyOf: (record: T) => TransferKey,
  read: (store: Store, after: TransferKey) => Promise<T[]>,
): ReadPages<T> {
  return async function* pages(store, after) {
    for (let from = after;;) {
      const page = await read(store, from);
      if (page.length === 0) return;
      yield page;
      from = keyOf(page.at(-1)!);
    }
  };
}

function hidden<Kind extends HiddenKind>(
  kind: Kind,
  keyOf: (record: HiddenRecords[Kind]) => TransferKey,
): ReadPages<HiddenRecords[Kind]> {
  return paged(keyOf, ({ transfer }, after) => transfer.read({ kind, after, limit: PAGE }));
}

const allRegisters = hidden("registers", KEY_OF.registers);
const allCounters = hidden("counters", ({ subscriptionId }) => [subscriptionId]);

async function* registerPages(store: Store, after: TransferKey): Pages<TransferRecords["registers"]> {
  for await (const page of allRegisters(store, after)) {
    const copied = page.filter(({ name }) => name !== COPY_REGISTER);
    if (copied.length > 0) yield copied;
  }
}

/** The store hands them out all at once, in no order. */
async function* bucketPages({ buckets }: Store, [after = ""]: TransferKey): Pages<TransferRecords["buckets"]> {
  const left = (await buckets.load()).filter(({ keyId }) => keyId > after);
  left.sort((one, other) => one.keyId < other.keyId ? -1 : 1);
  for (let at = 0; at < left.length; at += PAGE) yield left.slice(at, at + PAGE);
}

async function readersAfter(
  { deliveries, transfer }: Store,
  after: TransferKey,
): Promise<TransferRecords["subscriptions"][]> {
  const readers = await deliveries.readers({ after: after[0] as string | undefined, limit: PAGE });
  const counted = await transfer.read({ kind: "counters", after, limit: PAGE });
  const countersOf = new Map(counted.map(({ subscriptionId, ...counters }) => [subscriptionId, counters]));
  return readers.flatMap((reader) => {
    const counters = countersOf.get(reader.subscription.id);
    // One that is made or deleted just now: the comparison at the end says so.
    return counters === undefined ? [] : [{ ...reader, counters }];
  });
}

/** Subscription by subscription, of each the newest first. */
async function* attemptPages(store: Store, [id, ordinal]: TransferKey): Pages<TransferRecords["attempts"]> {
  let batch: TransferRecords["attempts"][] = [];
  for await (const page of singlePages()) {
    batch.push(...page);
    if (batch.length < ATTEMPT_PAGE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;

  async function* singlePages(): Pages<TransferRecords["attempts"]> {
    if (id !== undefined) yield* attemptsOf(store, id as string, ordinal as number);
    for await (const page of allCounters(store, id === undefined ? [] : [id])) {
      for (const { subscriptionId, attempts } of page) if (attempts > 0) yield* attemptsOf(store, subscriptionId);
    }
  }
}

async function* attemptsOf(
  { deliveries }: Store,
  subscriptionId: string,
  newest?: number,
): Pages<TransferRecords["attempts"]> {
  for (let before = newest;;) {
    const page = await deliveries.attempts(subscriptionId, { before, limit: ATTEMPT_PAGE });
    if (page.length > 0) yield page.map((attempt) => ({ subscriptionId, ...attempt }));
    if (page.length < ATTEMPT_PAGE) return;
    before = page.at(-1)!.ordinal;
  }
}

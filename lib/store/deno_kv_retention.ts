import type { Kv, KvKey } from "../runtime/kv.ts";
import type { DenoKvContext } from "./deno_kv.ts";
import { eventKey, indexKeys } from "./deno_kv_history.ts";
import { chunks, collect, commit, next } from "./deno_kv_io.ts";
import { areThere } from "./deno_kv_outbox.ts";
import {
  attemptKey,
  attemptTimeKey,
  creationKey,
  deletedKey,
  type DeliveryEntry,
  dueKey,
  FAN_OUT,
  type OwedEntry,
  REPLAYS_VERSION,
} from "./deno_kv_webhook_keys.ts";
import { createEventPruner, type PruneStep } from "./event_pruning.ts";
import { hasPassed } from "./fan_out_cursor.ts";
import type { StoredEvent } from "./store.ts";
import type { Attempt, FanOutCursor, Replay, WebhookStore } from "./webhook_store.ts";

type RetentionMethods = Pick<WebhookStore, "purgeDeleted" | "pruneEvents" | "pruneAttempts">;

/** Events looked at in one step, of five keys each; and the deliveries and the attempts removed in one. */
const STEP = 100;
const OWED_KEYS_PER_COMMIT = 500;
const PRUNED_ATTEMPTS = 200;

/** Forgets what is no longer needed, a bounded piece at a time. */
export function denoKvRetention({ kv, run, retry }: DenoKvContext): RetentionMethods {
  const pruneStep: PruneStep = (after, closedBefore) =>
    run(() =>
      retry(async () => {
        const [cursor, replaysVersion] = await kv.getMany<[FanOutCursor, unknown]>([FAN_OUT, REPLAYS_VERSION]);
        const replays = await collect(kv.list<Replay>({ prefix: ["replay"] }));
        const range = { prefix: ["event"], start: eventKey(next(after)) };
        const events = (await collect(kv.list<StoredEvent>(range, { limit: STEP }))).map(({ value }) => value);
        const end = events.findIndex(({ position, ledgerClosedAt }) =>
          ledgerClosedAt >= closedBefore || !hasPassed(cursor.value ?? undefined, position)
        );
        const passed = end < 0 ? events : events.slice(0, end);
        const { needed, owedKeys } = await owedOf(kv, passed);
        const removed = passed.filter(({ position }) =>
          !needed.has(position) &&
          !replays.some(({ value }) => value.position < position && position <= value.upToPosition)
        );
        const positions = new Set(removed.map(({ position }) => position));
        const keys = owedKeys.filter((key) => positions.has(key[1] as string));
        const eventKeys = removed.flatMap((event) => [eventKey(event.position), ...indexKeys(event)]);
        // The events last: who comes in between finds them, or nothing of them.
        for (const some of [...chunks(keys, OWED_KEYS_PER_COMMIT), eventKeys]) {
          const atomic = kv.atomic().check(replaysVersion);
          for (const key of some) atomic.delete(key);
          if (!await commit(atomic)) return undefined;
        }
        const isEnd = passed.length < STEP;
        return { done: { removed: removed.length, upTo: passed.at(-1)?.position ?? after, isEnd } };
      })
    );

  return {
    pruneEvents: createEventPruner(pruneStep),
    pruneAttempts: (beforeMs) =>
      run(async () => {
        const range = { prefix: ["attempt_by_time"], end: ["attempt_by_time", beforeMs] };
        const old = await collect(kv.list(range, { limit: PRUNED_ATTEMPTS, batchSize: PRUNED_ATTEMPTS }));
        const atomic = kv.atomic();
        for (const { key } of old) atomic.delete(key).delete(attemptKey(key[2] as string, key[3] as string));
        await commit(atomic);
        return old.length;
      }),
    purgeDeleted: () =>
      run(async () => {
        const deleted = await collect(kv.list({ prefix: ["deleted_subscription"] }, { limit: 2 }));
        const id = deleted[0]?.key[1] as string | undefined;
        if (id === undefined) return false;
        const atomic = kv.atomic();
        const deliveries = await collect(kv.list<DeliveryEntry>({ prefix: ["delivery", id] }, { limit: STEP }));
        for (const { key, value } of deliveries) {
          const deliveryId = key[2] as string;
          atomic.delete(key).delete(creationKey(id, value, deliveryId));
          if (value.dueAtMs !== null) atomic.delete(dueKey(id, value, deliveryId));
        }
        const attempts = await collect(kv.list<Attempt>({ prefix: ["attempt", id] }, { limit: STEP }));
        for (const { key, value } of attempts) atomic.delete(key).delete(attemptTimeKey(value.atMs, id, value.id));
        const isEmpty = deliveries.length < STEP && attempts.length < STEP;
        if (isEmpty) atomic.delete(deletedKey(id));
        await commit(atomic);
        return !isEmpty || deleted.length > 1;
      }),
  };
}

/** Which of these events, ascending, a delivery still needs; and where their deliveries are noted. */
async function owedOf(kv: Kv, events: StoredEvent[]): Promise<{ needed: Set<string>; owedKeys: KvKey[] }> {
  const needed = new Set<string>();
  const owedKeys = [];
  const [first, last] = [events.at(0), events.at(-1)];
  if (first && last) {
    const range = { start: ["owed", first.position], end: ["owed", next(last.position)] };
    for await (const { key, value } of kv.list<OwedEntry>(range, { batchSize: 10 })) {
      owedKeys.push(key);
      const position = key[1] as string;
      if (!needed.has(position) && (await areThere(kv, value)).includes(true)) needed.add(position);
    }
  }
  return { needed, owedKeys };
}

import { isoTime } from "../lib/clock.ts";
import { didYouMean } from "../lib/nearest.ts";
import type { Store } from "../lib/store/store.ts";
import type { Attempt, StoredConsumer, Subscription } from "../lib/store/webhook.ts";
import type { Backlog } from "../lib/webhooks/backlog.ts";
import { FAILED_STATES, failedDeliveries, type FailedWithAttempt } from "../lib/webhooks/failed_deliveries.ts";
import { publicAttempt, publicFailedDelivery, publicWebhook } from "../lib/webhooks/public_webhook.ts";
import { type CommandIo, UsageError } from "./command.ts";
import { type Column, tablePrinter } from "./terminal/table.ts";

/** A webhook and its pending deliveries. */
export interface ListedWebhook {
  consumer: StoredConsumer;
  backlog: Backlog;
}

export const WEBHOOK_COLUMNS: Column<ListedWebhook>[] = [
  { heading: "ID", width: 25, text: ({ consumer }) => consumer.subscription.id },
  { heading: "KEY", width: 10, goes: 1, text: ({ consumer }) => consumer.subscription.keyId },
  { heading: "URL", width: 40, least: 18, text: ({ consumer }) => consumer.subscription.url },
  { heading: "EVENTS", width: 30, least: 12, text: ({ consumer }) => filterText(consumer.subscription) },
  { heading: "CREATED", width: 16, least: 10, goes: 2, text: ({ consumer }) => consumer.subscription.createdAt },
  { heading: "PENDING", width: 7, text: ({ backlog }) => `${backlog.pending}${backlog.atLeast ? "+" : ""}` },
  { heading: "REJECTED", width: 8, goes: 3, text: ({ consumer }) => String(consumer.progress.rejected) },
  { heading: "DEAD", width: 4, text: ({ consumer }) => String(consumer.progress.dead) },
  {
    heading: "FAILING SINCE",
    width: 16,
    least: 13,
    goes: 4,
    text: ({ consumer }) => timeText(consumer.progress.failingSinceMs),
  },
];

export const ATTEMPT_COLUMNS: Column<Attempt>[] = [
  { heading: "AT", width: 19, text: ({ atMs }) => isoTime(atMs) },
  { heading: "OUTCOME", width: 9, text: ({ outcome }) => outcome },
  { heading: "STATUS", width: 6, goes: 6, text: ({ statusCode }) => String(statusCode ?? "-") },
  { heading: "TOOK", width: 8, goes: 2, text: ({ durationMs }) => `${Math.round(durationMs)} ms` },
  { heading: "ATTEMPT", width: 7, goes: 3, text: ({ number }) => String(number) },
  // As wide as the longest type, so that none is cut.
  { heading: "TYPE", width: 18, text: ({ eventType }) => eventType },
  { heading: "EVENT", width: 31, least: 16, goes: 1, text: ({ eventId }) => eventId },
  { heading: "NEXT", width: 19, least: 16, goes: 4, text: ({ nextAttemptAtMs }) => timeText(nextAttemptAtMs) },
  { heading: "ERROR", width: 40, least: 20, goes: 5, text: ({ error }) => error ?? "-" },
];

/** Status and error are of the newest attempt. */
const FAILED_COLUMNS: Column<FailedWithAttempt>[] = [
  { heading: "FAILED", width: 19, text: ({ delivery }) => isoTime(delivery.failedAtMs) },
  { heading: "TYPE", width: 18, goes: 4, text: ({ event }) => event.type },
  { heading: "EVENT", width: 31, text: ({ event }) => event.id },
  // For `replay --from-ledger`.
  { heading: "LEDGER", width: 10, goes: 6, text: ({ event }) => String(event.ledger) },
  { heading: "ATTEMPTS", width: 8, goes: 2, text: ({ delivery }) => String(delivery.attempts) },
  { heading: "NEXT", width: 19, least: 16, goes: 1, text: ({ delivery }) => timeText(delivery.dueAtMs) },
  { heading: "STATUS", width: 6, goes: 5, text: ({ lastAttempt }) => String(lastAttempt?.statusCode ?? "-") },
  { heading: "ERROR", width: 40, least: 20, goes: 3, text: ({ lastAttempt }) => lastAttempt?.error ?? "-" },
];

function timeText(atMs: number | null): string {
  return atMs === null ? "-" : isoTime(atMs);
}

/** As `GET /v1/webhooks` returns it, with its key and pending deliveries. */
export function webhookJson({ consumer, backlog: { pending, atLeast } }: ListedWebhook): string {
  const { subscription, progress } = consumer;
  const { keyId } = subscription;
  return JSON.stringify({ ...publicWebhook(subscription, progress), keyId, pending, atLeast }) + "\n";
}

/** As `GET /v1/webhooks/{id}/deliveries` returns it. */
function attemptJson(attempt: Attempt): string {
  return JSON.stringify(publicAttempt(attempt)) + "\n";
}

/** As `GET /v1/webhooks/{id}/deliveries?state=…` returns it. */
function failedJson(failed: FailedWithAttempt): string {
  return JSON.stringify(publicFailedDelivery(failed)) + "\n";
}

function filterText({ types, deviceHash, merchant }: Subscription): string {
  const parts = [
    ...(types ?? []),
    ...(deviceHash === null ? [] : [`device ${deviceHash}`]),
    ...(merchant === null ? [] : [`merchant ${merchant}`]),
  ];
  return parts.length === 0 ? "everything" : parts.join(", ");
}

export type FailedState = (typeof FAILED_STATES)[number];

/** Items per page of a list. No more are in memory at once. */
const PAGE_SIZE = 200;

export interface DeliveriesCall {
  store: Store;
  io: CommandIo;
  /** Id of the webhook. */
  id: string;
  most: number;
  json: boolean;
}

/**
 * The state of `--state`, undefined without the flag.
 * @throws {UsageError} when there is no such state
 */
export function stateFlag(text: string | undefined): FailedState | undefined {
  const state = FAILED_STATES.find((one) => one === text);
  if (text === undefined || state !== undefined) return state;
  const was = JSON.stringify(text) + didYouMean(text, FAILED_STATES);
  throw new UsageError(`--state must be one of ${FAILED_STATES.join(", ")}; got ${was}`);
}

/** Prints the newest attempts to deliver to a webhook. */
export async function printAttempts(call: DeliveriesCall): Promise<void> {
  const { store, io, id, json } = call;
  const count = await printPages(call, {
    columns: ATTEMPT_COLUMNS,
    json: attemptJson,
    place: ({ ordinal }) => ordinal,
    page: (before, limit) => store.deliveries.attempts(id, { before, limit }),
  });
  if (count === 0 && !json) io.stderr("no attempts\n");
}

/** Prints the failed deliveries of a webhook in this state. */
export async function printFailed(call: DeliveriesCall, state: FailedState): Promise<void> {
  const { store, io, id, json } = call;
  const count = await printPages(call, {
    columns: FAILED_COLUMNS,
    json: failedJson,
    place: ({ delivery }) => delivery.sequence,
    page: (beyond, limit) => failedDeliveries(store, id, { state, beyond, limit }),
  });
  if (count === 0 && !json) io.stderr(`no ${state} deliveries\n`);
}

interface Listing<T> {
  columns: Column<T>[];
  json(item: T): string;
  /** The position after which the next page begins. */
  place(item: T): number;
  page(place: number | undefined, limit: number): Promise<T[]>;
}

/** Prints at most `most` items, page by page. Returns their number. */
async function printPages<T>(
  { io, most, json }: DeliveriesCall,
  { columns, json: text, place, page }: Listing<T>,
): Promise<number> {
  const print = tablePrinter(io, columns);
  let at: number | undefined;
  for (let count = 0;;) {
    const size = Math.min(most - count, PAGE_SIZE);
    const items = await page(at, size);
    for (const item of items) {
      if (json) io.stdout(text(item));
      else print([item]);
    }
    count += items.length;
    if (items.length < size || count === most) return count;
    at = place(items.at(-1)!);
  }
}

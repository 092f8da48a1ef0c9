import { isoTime } from "../lib/clock.ts";
import type { Attempt, Reader, Subscription } from "../lib/store/webhook.ts";
import type { Backlog } from "../lib/webhooks/backlog.ts";
import type { FailedWithAttempt } from "../lib/webhooks/failed_deliveries.ts";
import { publicAttempt, publicFailedDelivery, publicWebhook } from "../lib/webhooks/public_webhook.ts";
import type { Column } from "./terminal/table.ts";

export const WEBHOOK_COLUMNS: Column[] = [
  { heading: "ID", width: 25 },
  { heading: "KEY", width: 10, goes: 1 },
  { heading: "URL", width: 40, least: 18 },
  { heading: "HEARS", width: 30, least: 12 },
  { heading: "CREATED", width: 16, least: 10, goes: 2 },
  { heading: "PENDING", width: 7 },
  { heading: "REJECTED", width: 8, goes: 3 },
  { heading: "DEAD", width: 4 },
  { heading: "FAILING SINCE", width: 16, least: 13, goes: 4 },
];

export const ATTEMPT_COLUMNS: Column[] = [
  { heading: "AT", width: 19 },
  { heading: "OUTCOME", width: 9 },
  { heading: "STATUS", width: 6, goes: 6 },
  { heading: "TOOK", width: 8, goes: 2 },
  { heading: "ATTEMPT", width: 7, goes: 3 },
  // The longest of all types: what an attempt was about is never guessed from its beginning.
  { heading: "TYPE", width: 18 },
  { heading: "EVENT", width: 31, least: 16, goes: 1 },
  { heading: "NEXT", width: 19, least: 16, goes: 4 },
  { heading: "ERROR", width: 40, least: 20, goes: 5 },
];

export const FAILED_COLUMNS: Column[] = [
  { heading: "FAILED", width: 19 },
  { heading: "TYPE", width: 18, goes: 4 },
  { heading: "EVENT", width: 31 },
  // What a replay begins with.
  { heading: "LEDGER", width: 10, goes: 6 },
  { heading: "ATTEMPTS", width: 8, goes: 2 },
  { heading: "NEXT", width: 19, least: 16, goes: 1 },
  { heading: "STATUS", width: 6, goes: 5 },
  { heading: "ERROR", width: 40, least: 20, goes: 3 },
];

/** A text for each of `WEBHOOK_COLUMNS`. */
export function webhookTexts({ subscription, progress }: Reader, { pending, atLeast }: Backlog): string[] {
  const { id, keyId, url, createdAt } = subscription;
  const { rejected, dead, failingSinceMs } = progress;
  return [
    id,
    keyId,
    url,
    filterText(subscription),
    createdAt,
    `${pending}${atLeast ? "+" : ""}`,
    String(rejected),
    String(dead),
    failingSinceMs === null ? "-" : isoTime(failingSinceMs),
  ];
}

/** As `GET /v1/webhooks` shows it, with its key and what is owed to it. */
export function webhookJson({ subscription, progress }: Reader, { pending, atLeast }: Backlog): string {
  const { keyId } = subscription;
  return JSON.stringify({ ...publicWebhook(subscription, progress), keyId, pending, atLeast }) + "\n";
}

/** A text for each of `ATTEMPT_COLUMNS`. */
export function attemptTexts(attempt: Attempt): string[] {
  const { atMs, outcome, statusCode, durationMs, number, eventType, eventId, nextAttemptAtMs, error } = attempt;
  return [
    isoTime(atMs),
    outcome,
    statusCode === null ? "-" : String(statusCode),
    `${Math.round(durationMs)} ms`,
    String(number),
    eventType,
    eventId,
    nextAttemptAtMs === null ? "-" : isoTime(nextAttemptAtMs),
    error ?? "-",
  ];
}

/** As `GET /v1/webhooks/{id}/deliveries` shows it. */
export function attemptJson(attempt: Attempt): string {
  return JSON.stringify(publicAttempt(attempt)) + "\n";
}

/** A text for each of `FAILED_COLUMNS`; status and error are those of the newest attempt. */
export function failedTexts({ delivery, event, lastAttempt }: FailedWithAttempt): string[] {
  const { failedAtMs, attempts, dueAtMs } = delivery;
  return [
    isoTime(failedAtMs),
    event.type,
    event.id,
    String(event.ledger),
    String(attempts),
    dueAtMs === null ? "-" : isoTime(dueAtMs),
    String(lastAttempt?.statusCode ?? "-"),
    lastAttempt?.error ?? "-",
  ];
}

/** As `GET /v1/webhooks/{id}/deliveries?state=…` shows it. */
export function failedJson(failed: FailedWithAttempt): string {
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

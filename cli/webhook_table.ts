import type { Attempt, Backlog, Subscription } from "../lib/store/webhook_store.ts";
import type { Column } from "./table.ts";

export const WEBHOOK_COLUMNS: Column[] = [
  { heading: "ID", width: 25 },
  { heading: "KEY", width: 10, goes: 1 },
  { heading: "URL", width: 40, least: 18 },
  { heading: "HEARS", width: 30, least: 12 },
  { heading: "CREATED", width: 16, least: 10, goes: 2 },
  { heading: "PENDING", width: 7 },
  { heading: "DEAD", width: 4 },
];

export const ATTEMPT_COLUMNS: Column[] = [
  { heading: "AT", width: 19 },
  { heading: "OUTCOME", width: 9 },
  { heading: "STATUS", width: 6 },
  { heading: "TOOK", width: 8, goes: 2 },
  { heading: "ATTEMPT", width: 7, goes: 4 },
  { heading: "TYPE", width: 18, least: 14, goes: 3 },
  { heading: "EVENT", width: 31, least: 16, goes: 1 },
  { heading: "NEXT", width: 19, least: 16 },
  { heading: "ERROR", width: 40, least: 16 },
];

/** A text for each of `WEBHOOK_COLUMNS`. */
export function webhookTexts(subscription: Subscription, { pending, dead }: Backlog): string[] {
  const { id, keyId, url, createdAt } = subscription;
  return [id, keyId, url, filterText(subscription), createdAt, String(pending), String(dead)];
}

export function webhookJson(subscription: Subscription, { pending, dead }: Backlog): string {
  const { id, keyId, url, types, deviceHash, merchant, createdAt } = subscription;
  return JSON.stringify({ id, keyId, url, types, deviceHash, merchant, createdAt, pending, dead }) + "\n";
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

export function attemptJson({ atMs, nextAttemptAtMs, number, subscriptionId: _, ...rest }: Attempt): string {
  const nextAttemptAt = nextAttemptAtMs === null ? null : isoTime(nextAttemptAtMs);
  return JSON.stringify({ ...rest, attempt: number, at: isoTime(atMs), nextAttemptAt }) + "\n";
}

function filterText({ types, deviceHash, merchant }: Subscription): string {
  const parts = [
    ...(types ?? []),
    ...(deviceHash === null ? [] : [`device ${deviceHash}`]),
    ...(merchant === null ? [] : [`merchant ${merchant}`]),
  ];
  return parts.length === 0 ? "everything" : parts.join(", ");
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

import type { Attempt, AttemptOutcome, Subscription } from "../store/webhook_store.ts";

/** A webhook as the HTTP API and the command line show it: without its secrets. */
export interface PublicWebhook {
  id: string;
  url: string;
  /** null: all. */
  types: string[] | null;
  deviceHash: string | null;
  merchant: string | null;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** Until then the secret before the last rotation signs too; ISO 8601 UTC. */
  previousSecretUntil: string | null;
}

export function publicWebhook(
  { id, url, types, deviceHash, merchant, createdAt, previousSecret }: Subscription,
): PublicWebhook {
  const previousSecretUntil = previousSecret === null ? null : isoTime(previousSecret.untilMs);
  return { id, url, types, deviceHash, merchant, createdAt, previousSecretUntil };
}

/** An attempt as the HTTP API and the command line show it. */
export interface PublicAttempt {
  id: string;
  eventId: string;
  eventType: string;
  /** null: a test event. */
  deliveryId: string | null;
  /** 1 for the first attempt of a delivery. */
  attempt: number;
  /** ISO 8601 UTC. */
  at: string;
  durationMs: number;
  outcome: AttemptOutcome;
  statusCode: number | null;
  error: string | null;
  responseBody: string | null;
  /** ISO 8601 UTC. */
  nextAttemptAt: string | null;
}

export function publicAttempt(attempt: Attempt): PublicAttempt {
  const { id, eventId, eventType, deliveryId, number, atMs, durationMs, nextAttemptAtMs } = attempt;
  const { outcome, statusCode, error, responseBody } = attempt;
  return {
    id,
    eventId,
    eventType,
    deliveryId,
    attempt: number,
    at: isoTime(atMs),
    durationMs,
    outcome,
    statusCode,
    error,
    responseBody,
    nextAttemptAt: nextAttemptAtMs === null ? null : isoTime(nextAttemptAtMs),
  };
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

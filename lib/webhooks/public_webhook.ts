import { isoTime } from "../clock.ts";
import type { Attempt, Progress, Subscription } from "../store/webhook.ts";
import type { FailedWithAttempt } from "./failed_deliveries.ts";

/** The progress of a new subscription. */
export const NOTHING_DELIVERED: Pick<Progress, "failingSinceMs" | "retrying" | "rejected" | "dead"> = {
  failingSinceMs: null,
  retrying: 0,
  rejected: 0,
  dead: 0,
};

/** A webhook as HTTP API and command line show it, without its secrets. The API's schema describes the fields. */
export function publicWebhook(
  { id, url, types, deviceHash, merchant, ordered, createdAt, previousSecret }: Subscription,
  { failingSinceMs, retrying, rejected, dead }: typeof NOTHING_DELIVERED,
) {
  return {
    id,
    url,
    types,
    deviceHash,
    merchant,
    ordered,
    createdAt,
    failingSince: failingSinceMs === null ? null : isoTime(failingSinceMs),
    retrying,
    rejected,
    dead,
    previousSecretUntil: previousSecret === null ? null : isoTime(previousSecret.untilMs),
  };
}

export type PublicWebhook = ReturnType<typeof publicWebhook>;

/** The type of a test event. */
export const TEST_EVENT_TYPE = "webhook.test";

/** An attempt as HTTP API and command line show it. */
export function publicAttempt(attempt: Attempt) {
  const { ordinal, eventId, eventType, replayId, number, atMs, durationMs, nextAttemptAtMs } = attempt;
  const { outcome, statusCode, error, responseBody } = attempt;
  return {
    id: String(ordinal),
    eventId,
    eventType,
    deliveryId: eventType === TEST_EVENT_TYPE ? null : replayId === null ? eventId : `${eventId}:${replayId}`,
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

export type PublicAttempt = ReturnType<typeof publicAttempt>;

/** A failed delivery as HTTP API and command line show it. */
export function publicFailedDelivery({ delivery, event, lastAttempt }: FailedWithAttempt) {
  const { state, failedAtMs, attempts, dueAtMs } = delivery;
  return {
    eventId: event.id,
    eventType: event.type,
    ledger: event.ledger,
    state,
    failedAt: isoTime(failedAtMs),
    attempts,
    nextAttemptAt: dueAtMs === null ? null : isoTime(dueAtMs),
    lastAttempt: lastAttempt === undefined ? null : publicAttempt(lastAttempt),
  };
}

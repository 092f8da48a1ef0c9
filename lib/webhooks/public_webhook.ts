import { isoTime } from "../clock.ts";
import type { Attempt, AttemptOutcome, FailedDelivery, Progress, Subscription } from "../store/webhook.ts";
import type { FailedWithAttempt } from "./failed_deliveries.ts";

/** A webhook as the HTTP API and the command line show it: without its secrets. */
export interface PublicWebhook {
  id: string;
  url: string;
  /** null: all. */
  types: string[] | null;
  deviceHash: string | null;
  merchant: string | null;
  ordered: boolean;
  /** ISO 8601 UTC. */
  createdAt: string;
  /** Since when its endpoint has been failing, ISO 8601 UTC; null: it is well. */
  failingSince: string | null;
  /** Deliveries that failed and are to be tried again. */
  retrying: number;
  /** Deliveries that an answer ended. */
  rejected: number;
  /** Deliveries given up. */
  dead: number;
  /** Until then the secret before the last rotation signs too; ISO 8601 UTC. */
  previousSecretUntil: string | null;
}

/** What the deliveries of a subscription that was just made have come to. */
export const NOTHING_DELIVERED: Pick<Progress, "failingSinceMs" | "retrying" | "rejected" | "dead"> = {
  failingSinceMs: null,
  retrying: 0,
  rejected: 0,
  dead: 0,
};

export function publicWebhook(
  { id, url, types, deviceHash, merchant, ordered, createdAt, previousSecret }: Subscription,
  { failingSinceMs, retrying, rejected, dead }: typeof NOTHING_DELIVERED,
): PublicWebhook {
  const failingSince = failingSinceMs === null ? null : isoTime(failingSinceMs);
  const previousSecretUntil = previousSecret === null ? null : isoTime(previousSecret.untilMs);
  return {
    id,
    url,
    types,
    deviceHash,
    merchant,
    ordered,
    createdAt,
    failingSince,
    retrying,
    rejected,
    dead,
    previousSecretUntil,
  };
}

/** What a test event is called. */
export const TEST_EVENT_TYPE = "webhook.test";

/** An attempt as the HTTP API and the command line show it. */
export interface PublicAttempt {
  id: string;
  eventId: string;
  eventType: string;
  /** null: a test event. */
  deliveryId: string | null;
  /** 1 for the first attempt of a delivery; 0 for one that only asked whether a failing endpoint is back. */
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

/** A delivery that is kept because it failed, as the HTTP API and the command line show it. */
export interface PublicFailedDelivery {
  eventId: string;
  eventType: string;
  ledger: number;
  state: FailedDelivery["state"];
  /** When it first failed, or was given up without an attempt; ISO 8601 UTC. */
  failedAt: string;
  /** How often it was tried. */
  attempts: number;
  /** ISO 8601 UTC; null unless it is retrying. */
  nextAttemptAt: string | null;
  /** null: there was none, or it is not kept any more. */
  lastAttempt: PublicAttempt | null;
}

export function publicFailedDelivery({ delivery, event, lastAttempt }: FailedWithAttempt): PublicFailedDelivery {
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

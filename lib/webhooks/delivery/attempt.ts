import type { Attempt, Delivery, Subscription } from "../../store/webhook_store.ts";
import { webhookBody } from "./body.ts";
import type { Poster, PostResult } from "../post/post.ts";
import type { NextAttempt, PostOutcome } from "./schedule.ts";
import { signatureHeaders, type SigningSecret, signingSecret } from "./signature.ts";

/** What is delivered: an event as receivers see it. */
export interface EventMessage {
  id: string;
  type: string;
  /** The event as JSON. */
  json: string;
}

/** A subscription as an attempt needs it, its secrets opened. */
export interface Recipient {
  id: string;
  url: string;
  /** The newest first; two or three while a rotation lasts. */
  secrets: SigningSecret[];
}

export interface AttemptParts {
  post: Poster["post"];
  /** What becomes of a delivery after this attempt. */
  next(attempt: number, outcome: PostOutcome, nowMs: number): NextAttempt;
  /** Unix milliseconds. */
  now(): number;
  /** Random letters and digits. */
  randomText(length: number): string;
}

/** One delivery's turn: which, to whom, what, and how many attempts there were before. */
export interface AttemptRequest {
  recipient: Recipient;
  /** Absent: a test event, which is not tried again. */
  delivery?: Pick<Delivery, "id" | "attempts">;
  message: EventMessage;
}

export type Attempter = (request: AttemptRequest, signal?: AbortSignal) => Promise<Attempt>;

const ATTEMPT_TIMEOUT_MS = 10_000;
const USER_AGENT = "payment-escrow-gateway-webhooks";

/** Signs and posts one event and says what came of it. */
export function createAttempter({ post, next, now, randomText }: AttemptParts): Attempter {
  return async ({ recipient, delivery, message }, signal) => {
    const atMs = now();
    const body = webhookBody(recipient.id, message.json);
    const headers = signatureHeaders({ secrets: recipient.secrets, eventId: message.id, body, nowMs: atMs });
    headers["content-type"] = "application/json";
    headers["user-agent"] = USER_AGENT;
    const result = await post({ url: recipient.url, headers, body, timeoutMs: ATTEMPT_TIMEOUT_MS, signal });
    const number = (delivery?.attempts ?? 0) + 1;
    const { outcome, nextAttemptAtMs } = next(number, outcomeOf(result), now());
    const isTest = delivery === undefined;
    return {
      id: `${String(atMs).padStart(15, "0")}-${randomText(8)}`,
      subscriptionId: recipient.id,
      deliveryId: delivery?.id ?? null,
      eventId: message.id,
      eventType: message.type,
      number,
      atMs,
      durationMs: Math.max(0, Math.round(result.durationMs)),
      outcome: isTest && outcome === "retry" ? "ended" : outcome,
      statusCode: result.statusCode ?? null,
      error: result.error ?? (outcome === "delivered" ? null : `the endpoint answered ${result.statusCode}`),
      responseBody: result.responseBody === "" ? null : result.responseBody,
      nextAttemptAtMs: isTest ? null : nextAttemptAtMs ?? null,
    };
  };
}

/** An answer that did not come in full is none: the receiver may not have done its work. */
function outcomeOf({ statusCode, error, retryAfter }: PostResult): PostOutcome {
  return error !== undefined || statusCode === undefined
    ? { kind: "network_error" }
    : { kind: "status", statusCode, retryAfter };
}

/** A subscription with the secrets that sign now. `open` reads what the store keeps. */
export function recipientOf(
  { id, url, secret, previousSecret, olderSecret }: Subscription,
  open: (subscriptionId: string, stored: string) => string,
  nowMs: number,
): Recipient {
  const secrets = [signingSecret(open(id, secret))];
  for (const former of [previousSecret, olderSecret]) {
    if (former && former.untilMs > nowMs) secrets.push(signingSecret(open(id, former.secret)));
  }
  return { id, url, secrets };
}

import type { Clock } from "../../clock.ts";
import type { NewAttempt, Subscription } from "../../store/webhook.ts";
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
  clock: Clock;
  /** What becomes of a delivery after this attempt, owed for so long. */
  next(attempt: number, outcome: PostOutcome, nowMs: number, ageMs: number): NextAttempt;
}

export interface AttemptRequest {
  recipient: Recipient;
  message: EventMessage;
  /** How many attempts there were before. */
  attempts: number;
  /** How long it has been owed, by the network's clock. */
  ageMs: number;
  /** `probe`: a failure uses up no attempt. `test`: it is not tried again. */
  kind: "delivery" | "probe" | "test";
  replayId: string | null;
  /** When it is made, as its signature says, Unix ms; the clock's time when absent. */
  atMs?: number;
}

/** Makes one attempt and says what came of it; never rejects for what an endpoint or a network does. */
export type Attempter = (request: AttemptRequest, signal?: AbortSignal) => Promise<NewAttempt>;

const ATTEMPT_TIMEOUT_MS = 10_000;
const USER_AGENT = "payment-escrow-gateway-webhooks";

/** Signs and posts one event and says what came of it. */
export function createAttempter({ post, clock, next }: AttemptParts): Attempter {
  return async ({ recipient, message, attempts, ageMs, kind, replayId, atMs = clock.now() }, signal) => {
    const { url, headers, body } = signedPost(recipient, message, atMs);
    const result = await post({
      url,
      headers,
      body,
      // What is kept of successes is little; whoever sends a test wants to see what it was answered.
      ignoresSuccessBody: kind !== "test",
      timeoutMs: ATTEMPT_TIMEOUT_MS,
      signal,
    });
    const durationMs = Math.max(0, Math.round(result.durationMs));
    // A probe is no attempt, and so is never the last one.
    const attempt = kind === "probe" ? Math.max(1, attempts) : attempts + 1;
    // By the clock as it is now: it may have been set meanwhile.
    const { outcome, nextAttemptAtMs = null } = next(attempt, outcomeOf(result), clock.now(), ageMs);
    const isDelivered = outcome === "delivered";
    return {
      replayId,
      eventId: message.id,
      eventType: message.type,
      number: kind === "probe" ? 0 : attempts + 1,
      atMs,
      durationMs,
      outcome: kind === "test" && outcome === "retry" ? "dead" : outcome,
      statusCode: result.statusCode ?? null,
      error: result.error ?? (isDelivered ? null : `the endpoint answered ${result.statusCode}`),
      responseBody: result.responseBody === "" ? null : result.responseBody,
      nextAttemptAtMs: kind === "test" ? null : nextAttemptAtMs,
    };
  };
}

/** What is POSTed for an event: it follows from the event, the secrets and the time, so it can be made again later. */
export interface SignedPost {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Signs an event for a recipient. @param atMs Unix ms, the time that the signature says */
export function signedPost({ id, url, secrets }: Recipient, message: EventMessage, atMs: number): SignedPost {
  const body = webhookBody(id, message.json);
  const headers = signatureHeaders({ secrets, eventId: message.id, body, nowMs: atMs });
  headers["content-type"] = "application/json";
  headers["user-agent"] = USER_AGENT;
  return { url, headers, body };
}

/** The body of a delivery, `{ "subscription": id, "event": {…} }`: one event goes to many, and is written as JSON once. */
export function webhookBody(subscriptionId: string, eventJson: string): string {
  return `{"subscription":${JSON.stringify(subscriptionId)},"event":${eventJson}}`;
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

import type { Clock } from "../../clock.ts";
import type { NewAttempt, Subscription } from "../../store/webhook.ts";
import type { Poster, PostResult } from "../post/post.ts";
import { nextAttempt } from "./schedule.ts";
import { signatureHeaders, type SigningSecret, signingSecret } from "./signature.ts";

/** An event as the receiver sees it. */
export interface EventMessage {
  id: string;
  type: string;
  /** The event as JSON. */
  json: string;
}

/** A subscription with its secrets opened. */
export interface Recipient {
  id: string;
  url: string;
  /** Newest first; two or three during a rotation. */
  secrets: SigningSecret[];
}

export interface AttemptParts {
  post: Poster["post"];
  clock: Clock;
  /** Uniform from 0 (inclusive) to 1 (exclusive). */
  random(): number;
  onProblem(message: string, cause: unknown): void;
}

export interface AttemptRequest {
  recipient: Recipient;
  message: EventMessage;
  /** Earlier attempts. */
  attempts: number;
  /** How long it has been pending, by network time. */
  ageMs: number;
  /** `probe`: a failure uses no attempt. `test`: never retried. */
  kind: "delivery" | "probe" | "test";
  replayId: string | null;
  /** The signature's time, Unix ms; the clock's time when absent. */
  atMs?: number;
}

/** Makes one attempt and returns its result. Never rejects. */
export type Attempter = (request: AttemptRequest, signal?: AbortSignal) => Promise<NewAttempt>;

const ATTEMPT_TIMEOUT_MS = 10_000;
const USER_AGENT = "payment-escrow-gateway-webhooks";

/** Creates the function that signs and posts one event. */
export function createAttempter({ post, clock, random, onProblem }: AttemptParts): Attempter {
  return async ({ recipient, message, attempts, ageMs, kind, replayId, atMs = clock.now() }, signal) => {
    const { url, headers, body } = signedPost(recipient, message, atMs);
    const result = await post({
      url,
      headers,
      body,
      // Of successes little is stored; the sender of a test wants to see the answer.
      ignoresSuccessBody: kind !== "test",
      timeoutMs: ATTEMPT_TIMEOUT_MS,
      signal,
    }).catch((cause): PostResult => {
      // Endpoints and networks do not throw: this is a problem on our side.
      onProblem("a webhook delivery cannot be attempted", cause);
      return { error: "the gateway failed to send it", responseBody: "", durationMs: 0 };
    });
    const durationMs = Math.max(0, Math.round(result.durationMs));
    // A probe is no attempt, and so never the last one.
    const attempt = kind === "probe" ? Math.max(1, attempts) : attempts + 1;
    // By the current clock, which may have been set meanwhile.
    const { outcome, nextAttemptAtMs = null } = nextAttempt({ attempt, result, nowMs: clock.now(), ageMs, random });
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

/** The POST of an event. Event, secrets and time determine it, so it can be rebuilt later. */
export interface SignedPost {
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** Signs an event for a recipient. @param atMs the signature's time, Unix ms */
export function signedPost({ id, url, secrets }: Recipient, message: EventMessage, atMs: number): SignedPost {
  const body = webhookBody(id, message.json);
  const headers = signatureHeaders({ secrets, eventId: message.id, body, nowMs: atMs });
  headers["content-type"] = "application/json";
  headers["user-agent"] = USER_AGENT;
  return { url, headers, body };
}

/**
 * The body of a delivery, `{ "subscription": id, "event": {…} }`. The JSON of an event is made once for all receivers.
 */
export function webhookBody(subscriptionId: string, eventJson: string): string {
  return `{"subscription":${JSON.stringify(subscriptionId)},"event":${eventJson}}`;
}

/** A subscription with the secrets that are valid now. `open` decrypts stored ones. */
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

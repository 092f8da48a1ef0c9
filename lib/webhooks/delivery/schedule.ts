import { JITTER, MAX_RETRY_AFTER_SECONDS, SCHEDULE } from "../../retry_schedule.ts";
import type { AttemptOutcome } from "../../store/webhook.ts";
import type { PostResult } from "../post/post.ts";

/** The first attempt, and one after each delay. */
export const MAX_ATTEMPTS: number = SCHEDULE.length + 1;

/** A delivery older than this is given up at its next failure, in milliseconds. */
export const MAX_AGE_MS: number = 3 * 86_400_000;

export interface FinishedAttempt {
  /** 1 for the first attempt of a delivery. */
  attempt: number;
  /** An incomplete answer counts as none: the receiver may not have done its work. */
  result: Pick<PostResult, "statusCode" | "error" | "retryAfter">;
  /** Unix ms. */
  nowMs: number;
  /** How long it has been pending, by network time. */
  ageMs: number;
  /** Uniform from 0 (inclusive) to 1 (exclusive). */
  random: () => number;
}

export interface NextAttempt {
  outcome: AttemptOutcome;
  /** Unix ms; only with `retry`. */
  nextAttemptAtMs?: number;
}

/**
 * The state of a delivery after an attempt. 2xx is `delivered`. Network errors, 429 and 5xx are a `retry`, or `dead`
 * after the last attempt or at the age of three days. Any other answer is `rejected`. `Retry-After` can delay the next
 * attempt, up to a day, but never advance it.
 */
export function nextAttempt({ attempt, result, nowMs, ageMs, random }: FinishedAttempt): NextAttempt {
  const { statusCode, error, retryAfter } = result;
  const isAnswered = statusCode !== undefined && error === undefined;
  if (isAnswered) {
    if (statusCode >= 200 && statusCode <= 299) return { outcome: "delivered" };
    if (statusCode !== 429 && !(statusCode >= 500 && statusCode <= 599)) return { outcome: "rejected" };
  }
  const delaySeconds = SCHEDULE[attempt - 1];
  if (delaySeconds === undefined || ageMs >= MAX_AGE_MS) return { outcome: "dead" };
  const scheduledMs = delaySeconds * 1000 * (1 - JITTER + 2 * JITTER * random());
  const asked = isAnswered ? retryAfterMs(retryAfter, nowMs) : undefined;
  // Spread too, but only to later: all senders got the same value.
  const askedMs = asked === undefined ? 0 : asked * (1 + JITTER * random());
  const delayMs = Math.max(scheduledMs, Math.min(askedMs, MAX_RETRY_AFTER_SECONDS * 1000));
  return { outcome: "retry", nextAttemptAtMs: Math.ceil(nowMs + delayMs) };
}

/** The delay that `Retry-After` asks for (RFC 9110 §10.2.3); undefined when it is absent or invalid. */
function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  const text = header?.trim();
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const atMs = httpDate(text);
  return atMs === undefined ? undefined : Math.max(atMs - nowMs, 0);
}

/** An IMF-fixdate, the only form of HTTP date still in use (RFC 9110 §5.6.7). */
const IMF_FIXDATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/;

function httpDate(text: string): number | undefined {
  const atMs = IMF_FIXDATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(atMs) ? undefined : atMs;
}

const FIRST_BREAK_MS = 250;
const LONGEST_BREAK_MS = 5_000;

/**
 * The pause after this many failures in a row, in milliseconds. It starts with the second one and doubles each time.
 * After it one delivery is a probe. So the worker finds a recovered endpoint within seconds, and does not flood a dead
 * one.
 */
export function breakAfter(failures: number): number {
  return failures < 2 ? 0 : Math.min(LONGEST_BREAK_MS, FIRST_BREAK_MS * 2 ** Math.min(failures - 2, 10));
}

import { breakAfter } from "./schedule.ts";

/**
 * The health of an endpoint by its last answers. Times are monotonic milliseconds; `failures` are those in a row.
 * `isAsked`: it has failed since the consumer was opened or its key enabled. Before that its present health is unknown.
 */
export type Endpoint =
  /** `window`: how many posts may be under way. */
  | { state: "healthy"; window: number }
  /** Its last answer took long, or has not come yet. */
  | { state: "slow" }
  /** The event may be the cause, so each post is an attempt. */
  | { state: "backingOff"; until: number; failures: number; isAsked: boolean }
  /** The endpoint itself fails, so most posts are probes. */
  | { state: "down"; until: number; failures: number; isAsked: boolean };

/** The result of a post for the endpoint. An answer that rejects the event shows a working endpoint. */
export type EndpointOutcome = "quick" | "slow" | "failed";

/** An endpoint is down after this many failures in a row. */
const DOWN_FROM = 8;
/** One in this many probes is an attempt: other deliveries wait behind it. */
const PROBES_OF_ONE = 5;
/** Probes rotate among this many deliveries, because the endpoint may fail at one of them only. */
const CHOSEN_AMONG = 4;

/** An endpoint before its first answer. @param isFailing whether it failed when last known */
export function unknownEndpoint(isFailing: boolean): Endpoint {
  if (!isFailing) return { state: "healthy", window: 1 };
  return { state: "down", until: -Infinity, failures: DOWN_FROM, isAsked: false };
}

/** The endpoint after a post. @param mostPosts the limit of its window */
export function next(endpoint: Endpoint, outcome: EndpointOutcome, now: number, mostPosts: number): Endpoint {
  if (outcome === "slow") return { state: "slow" };
  if (outcome === "quick") {
    const before = endpoint.state === "healthy" ? endpoint.window : 1;
    return { state: "healthy", window: Math.min(mostPosts, before + 1) };
  }
  const failures = failuresOf(endpoint) + 1;
  const state = failures < DOWN_FROM ? "backingOff" : "down";
  return { state, until: now + breakAfter(failures), failures, isAsked: true };
}

/** The endpoint while an answer takes long. */
export function slowed(endpoint: Endpoint): Endpoint {
  return endpoint.state === "healthy" ? { state: "slow" } : endpoint;
}

/** The endpoint while its deliveries are held back. */
export function unasked(endpoint: Endpoint): Endpoint {
  return "isAsked" in endpoint ? { ...endpoint, isAsked: false } : endpoint;
}

/** Failures in a row. */
export function failuresOf(endpoint: Endpoint): number {
  return "failures" in endpoint ? endpoint.failures : 0;
}

/** The time of the next post (monotonic ms). */
export function readyAt(endpoint: Endpoint): number {
  return "until" in endpoint ? endpoint.until : -Infinity;
}

/** How many posts may be under way. */
export function windowOf(endpoint: Endpoint): number {
  return endpoint.state === "healthy" ? endpoint.window : 1;
}

/** Whether it backs off: one post at a time, after a pause. */
export function hasBreaks(endpoint: Endpoint): boolean {
  return breakAfter(failuresOf(endpoint)) > 0;
}

/** Whether it fails now. Its deliveries that are days old are given up. */
export function isKnownToFail(endpoint: Endpoint): boolean {
  return hasBreaks(endpoint) && "isAsked" in endpoint && endpoint.isAsked;
}

/**
 * Whether a failure of a first delivery uses no attempt.
 * @param isWaitedAt whether nothing else is sent before it, so that it need not make way
 */
export function isProbed(endpoint: Endpoint, isWaitedAt: boolean): boolean {
  if (isWaitedAt) return hasBreaks(endpoint);
  return endpoint.state === "down" && endpoint.failures % PROBES_OF_ONE > 0;
}

/** The index of the delivery for the next probe. */
export function probedAmong(endpoint: Endpoint, deliveries: number): number {
  return failuresOf(endpoint) % Math.min(CHOSEN_AMONG, deliveries);
}

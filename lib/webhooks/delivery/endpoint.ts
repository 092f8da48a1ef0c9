import { breakAfter } from "./schedule.ts";

/**
 * How an endpoint does, as its last answers say. Times are monotonic milliseconds; `failures` are those in a row. `isAsked`:
 * it has failed since the consumer was opened, or its key was enabled: before that nobody knows how it does now.
 */
export type Endpoint =
  /** `window`: so many posts may be under way. */
  | { state: "healthy"; window: number }
  /** Its last answer took long, or is still awaited. */
  | { state: "slow" }
  /** What it was sent may be what fails: each post is an attempt. */
  | { state: "backingOff"; until: number; failures: number; isAsked: boolean }
  /** It is the endpoint that fails: most posts are probes. */
  | { state: "down"; probeAt: number; failures: number; isAsked: boolean };

/** What a post came to, for the endpoint: an answer that rejects the event is one of an endpoint that works. */
export type EndpointOutcome = "quick" | "slow" | "failed";

/** After so many failures in a row an endpoint is down. */
const DOWN_FROM = 8;
/** Now and then a probe is an attempt all the same: other deliveries wait behind it. */
const PROBES_OF_ONE = 5;
/** Probes are made with one after the other of the first so many deliveries: the endpoint may fail at just one of them. */
const CHOSEN_AMONG = 4;

/** An endpoint before its first answer. @param isFailing whether it failed when it was heard of last */
export function unknownEndpoint(isFailing: boolean): Endpoint {
  if (!isFailing) return { state: "healthy", window: 1 };
  return { state: "down", probeAt: -Infinity, failures: DOWN_FROM, isAsked: false };
}

/** The endpoint after a post. @param mostPosts how far its window may grow */
export function next(endpoint: Endpoint, outcome: EndpointOutcome, now: number, mostPosts: number): Endpoint {
  if (outcome === "slow") return { state: "slow" };
  if (outcome === "quick") {
    const before = endpoint.state === "healthy" ? endpoint.window : 1;
    return { state: "healthy", window: Math.min(mostPosts, before + 1) };
  }
  const failures = failuresOf(endpoint) + 1;
  const until = now + breakAfter(failures);
  if (failures < DOWN_FROM) return { state: "backingOff", until, failures, isAsked: true };
  return { state: "down", probeAt: until, failures, isAsked: true };
}

/** The endpoint while an answer is awaited for long. */
export function slowed(endpoint: Endpoint): Endpoint {
  return endpoint.state === "healthy" ? { state: "slow" } : endpoint;
}

/** The endpoint while nothing may be posted to it. */
export function unasked(endpoint: Endpoint): Endpoint {
  return "isAsked" in endpoint ? { ...endpoint, isAsked: false } : endpoint;
}

/** Failures in a row. */
export function failuresOf(endpoint: Endpoint): number {
  return "failures" in endpoint ? endpoint.failures : 0;
}

/** Nothing is posted before, monotonic ms. */
export function readyAt(endpoint: Endpoint): number {
  if (endpoint.state === "backingOff") return endpoint.until;
  return endpoint.state === "down" ? endpoint.probeAt : -Infinity;
}

/** How many posts may be under way. */
export function windowOf(endpoint: Endpoint): number {
  return endpoint.state === "healthy" ? endpoint.window : 1;
}

/** Whether it gets one post at a time, after a break. */
export function hasBreaks(endpoint: Endpoint): boolean {
  return breakAfter(failuresOf(endpoint)) > 0;
}

/** Whether it fails, and was asked lately: what has waited for it for days is given up. */
export function isKnownToFail(endpoint: Endpoint): boolean {
  return hasBreaks(endpoint) && "isAsked" in endpoint && endpoint.isAsked;
}

/**
 * Whether a failure of what was not sent before uses up no attempt. @param isWaitedAt whether nothing else is sent before this
 * is done with: then it need not make way for what comes next
 */
export function isProbed(endpoint: Endpoint, isWaitedAt: boolean): boolean {
  if (isWaitedAt) return hasBreaks(endpoint);
  return endpoint.state === "down" && endpoint.failures % PROBES_OF_ONE > 0;
}

/** Which of so many deliveries a probe is made with. */
export function probedAmong(endpoint: Endpoint, deliveries: number): number {
  return failuresOf(endpoint) % Math.min(CHOSEN_AMONG, deliveries);
}

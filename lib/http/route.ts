import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { KeyRecord, Scope } from "../store/store.ts";

/** What a handler is given: everything checked, nothing raw. */
export interface RouteInput<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** The calling key; only routes with a scope have one. */
  key: KeyRecord;
}

/** One endpoint: what it takes, what it answers, which scope it asks for. Validation and OpenAPI both come from this. */
export interface Route<P = unknown, Q = unknown, B = unknown, A extends object = object> {
  method: "get" | "post" | "delete";
  /** Hono path, `/v1/devices/:hash`. */
  path: `/v1/${string}`;
  /** The scope a key must hold; null only where no key is asked for. A route that does not say does not compile. */
  scope: Scope | null;
  summary: string;
  description?: string;
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  body?: z.ZodType<B>;
  answer: z.ZodType<A>;
  /** Status of a good answer, 200 when absent. */
  status?: 200 | 201 | 202;
  /** Whether an answer comes with status 200 all the same: nothing was created or begun. */
  isPlain?(answer: A): boolean;
  /** The errors of its own; those of every endpoint (key, scope, limit, …) are added by themselves. */
  errors: ErrorCode[];
  /** The handler answers the same object again while its answer holds: it is serialised once. */
  held?: boolean;
  /** May answer at once: the hot reads do, and cost no promise. */
  handle(input: RouteInput<P, Q, B>): A | Promise<A>;
}

// The types of one route's input and answer stay within its definition; a table of routes holds them all alike.
// deno-lint-ignore no-explicit-any
export type AnyRoute = Route<any, any, any, any>;

/** Defines a route: infers the types of its handler's input from its schemas. */
export function route<P = Record<never, never>, Q = Record<never, never>, B = undefined, A extends object = object>(
  definition: Route<P, Q, B, A>,
): AnyRoute {
  return definition;
}

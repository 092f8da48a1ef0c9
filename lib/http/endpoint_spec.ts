import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { LogFields } from "../log.ts";
import type { KeyRecord, Scope } from "../store/store.ts";

/** What a handler is given: everything checked, nothing raw. */
export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** The request's `Idempotency-Key`, where the endpoint takes one and it has one. */
  idempotencyKey: string | undefined;
  /** The calling key; only endpoints with a scope have one. */
  key: KeyRecord;
  /** Aborted when the caller leaves before the answer: to be asked for before that, or a runtime may never tell. */
  signal(): AbortSignal;
}

/** Adds to what the log says of this request; of a write its kind, source, hash and ledger. */
export type Note = (fields: LogFields) => void;

/** What an endpoint takes, what it answers, and who may ask. Validation and OpenAPI both come from this. */
export interface EndpointSpec<P = unknown, Q = unknown, B = unknown, A extends object = object> {
  /** What generated clients call it: `getDevice`. */
  operationId: string;
  /** The scopes of which a key must hold one; none: no key is asked for. An endpoint that does not say does not compile. */
  scopes: readonly Scope[];
  /** Tokens it takes of the key's rate, 1 when absent. */
  cost?: number;
  summary: string;
  description?: string;
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  /** Whatever stands in the query is passed over: for checks of other people's making. */
  ignoresQuery?: boolean;
  body?: z.ZodType<B>;
  /** Whether it takes an `Idempotency-Key`. */
  idempotent?: boolean;
  response: z.ZodType<A>;
  /** Of the answer, `application/json` when absent: of an event stream the data of each event is what `answer` says. */
  mediaType?: "text/event-stream";
  /** Status of a good answer, 200 when absent. */
  status?: 200 | 201 | 202;
  /** Whether an answer comes with status 200 all the same: nothing was created or begun. */
  isPlain?(answer: A): boolean;
  /** The errors of its own; those of every endpoint (key, scope, limit, …) are added by themselves. */
  errors: readonly ErrorCode[];
  /** The handler answers the same object again while its answer holds: it is serialised once. */
  cached?: boolean;
}

// The types of one endpoint's input and answer stay within its definition; outside all are alike.
// deno-lint-ignore no-explicit-any
export type AnySpec = EndpointSpec<any, any, any, any>;

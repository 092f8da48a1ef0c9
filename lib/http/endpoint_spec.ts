import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { LogFields } from "../log.ts";
import type { KeyRecord, Scope } from "../store/store.ts";
import type { RowPage } from "./exported_list.ts";
import type { Dependencies } from "./request_context.ts";

/** The checked input of a handler. */
export interface Input<P, Q, B> {
  params: P;
  query: Q;
  body: B;
  /** The request's `Idempotency-Key`, where the endpoint supports one. */
  idempotencyKey: string | undefined;
  /** The calling key; only endpoints with a scope have one. */
  key: KeyRecord;
  /** Aborted when the client disconnects before the response. Call it before that, or a runtime may never abort. */
  signal(): AbortSignal;
}

/** Adds fields to the request's log line; for a write its kind, source, hash and ledger. */
export type Note = (fields: LogFields) => void;

/** Request, response and scopes of an endpoint. Validation and OpenAPI both use it. */
export interface EndpointSpec<P = unknown, Q = unknown, B = unknown, A extends object = object> {
  /** Its name in generated clients: `getDevice`. */
  operationId: string;
  /** The key must have one of these scopes. With an empty list the endpoint needs no key. */
  scopes: readonly Scope[];
  /** Tokens of the key's rate that a request costs, 1 when absent. */
  cost?: number;
  summary: string;
  description?: string;
  params?: z.ZodType<P>;
  query?: z.ZodType<Q>;
  /** Ignores every query parameter: health checks may send any. */
  ignoresQuery?: boolean;
  body?: z.ZodType<B>;
  /** Whether it supports an `Idempotency-Key`. */
  idempotent?: boolean;
  response: z.ZodType<A>;
  /** `application/json` when absent. For an event stream `response` is the schema of each event's data. */
  mediaType?: "text/event-stream";
  /** The list as a file, which a request gets by `format` of its query, or by Accept. */
  file?: {
    /** The name of the file, without its ending. */
    name: string;
    /** The columns of CSV. */
    columns: readonly string[];
    pages(input: Pick<Input<P, Q, B>, "query" | "key">, dependencies: Dependencies): AsyncGenerator<RowPage>;
  };
  /** Status of a good response, 200 when absent. */
  status?: 200 | 201 | 202;
  /** Whether this response has status 200 instead, because nothing was created or begun. */
  isPlain?(response: A): boolean;
  /** Its own errors. The errors of every endpoint (key, scope, limit, …) are added automatically. */
  errors: readonly ErrorCode[];
  /** The handler returns the same object while its content is current, so the gateway serialises it once. */
  cached?: boolean;
}

// The types of one endpoint's input and response stay within its definition.
// deno-lint-ignore no-explicit-any
export type AnySpec = EndpointSpec<any, any, any, any>;

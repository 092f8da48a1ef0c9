import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { subjectsOf } from "../../events/log_reader.ts";
import type { EventStream, StreamFrame } from "../../events/stream.ts";
import type { KeyRecord } from "../../store/store.ts";
import { plainResponse } from "../response.ts";
import { type Endpoint, guarded } from "../endpoint.ts";
import type { AnySpec, Input } from "../endpoint_spec.ts";
import { after, type RequestContext } from "../request_context.ts";
import { presentedKey } from "../middleware/authenticate.ts";
import type { streamQuery } from "../validation/event_query.ts";

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // Without this header nginx buffers the response.
  "x-accel-buffering": "no",
};

/** Header with which a client resumes its stream. */
const LAST_EVENT_ID = "Last-Event-ID";

/** First bytes of the stream, with the delay before a browser reconnects. */
const GREETING = "retry: 2000\n\n";

const encoder = new TextEncoder();

type StreamInput = Input<unknown, z.infer<typeof streamQuery>, unknown>;

/**
 * Makes the handler of a stream of server-sent events (HTML standard, 9.2). The response lasts until either side ends it.
 * `spec.response` is the schema of an event's data.
 */
export function eventStreamEndpoint(spec: AnySpec): Endpoint {
  async function opened(context: RequestContext, { query, key }: StreamInput): Promise<Response> {
    const { parts, request } = context;
    const { fromLedger, cursor, ...subjects } = query;
    const lastEventId = request.headers.get(LAST_EVENT_ID) || undefined;
    let stream: EventStream;
    try {
      stream = await parts.dependencies.streams.open({
        fromLedger,
        cursor,
        subjects: subjectsOf(subjects),
        lastEventId,
        keyId: key.id,
        refusal: refusalOf(context, key),
      });
    } catch (error) {
      throw lastEventId === undefined ? error : namingHeader(error);
    }
    // Without a body the runtimes send Content-Length: 0. They send none for a stream, and discard it.
    if (request.method === "HEAD") {
      stream.close();
      return plainResponse(context, new Response(new ReadableStream(), { headers: HEADERS }));
    }
    const check = parts.checkAnswers ? (event: unknown) => void spec.response.parse(event) : undefined;
    return plainResponse(context, new Response(bodyOf(stream, context, check), { headers: HEADERS }));
  }

  /** Returns a check that reports why the key may no longer read this stream, undefined while it may. */
  function refusalOf({ parts, request }: RequestContext, { id }: KeyRecord) {
    const presented = presentedKey(request) as string;
    return () =>
      after(parts.verifier.verify(presented), (verdict): string | undefined => {
        if ("reason" in verdict) return verdict.reason;
        const { record } = verdict;
        return record.id === id && spec.scopes.some((scope) => record.scopes.includes(scope)) ? undefined : "scope";
      });
  }

  return guarded<unknown, StreamInput["query"], unknown>(spec, opened);
}

/** The error about the cursor, with the name of the header that held it. */
function namingHeader(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param !== "cursor") return error;
  return new GatewayError(error.code, error.message.replace("cursor", LAST_EVENT_ID), { param: LAST_EVENT_ID });
}

/** The body pulls frames only when the client reads, so it buffers nothing for a slow client. */
function bodyOf(
  stream: EventStream,
  { parts: { log }, requestId, key }: RequestContext,
  check?: (event: unknown) => void,
): ReadableStream<Uint8Array> {
  const openedAt = performance.now();
  let events = 0;
  let isGreeted = false;

  function ended(cause?: unknown): void {
    const durationMs = Math.round(performance.now() - openedAt);
    log.debug("event stream ended", { requestId, key: key?.id, durationMs, events, cause });
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (!isGreeted) {
        isGreeted = true;
        return controller.enqueue(encoder.encode(GREETING));
      }
      try {
        const frames = await stream.next();
        if (frames === undefined) {
          ended();
          return controller.close();
        }
        for (const frame of frames) {
          if (frame.kind !== "event") continue;
          events += 1;
          check?.(frame.event);
        }
        controller.enqueue(encoder.encode(frames.map(frameText).join("")));
      } catch (cause) {
        stream.close();
        ended(cause);
        controller.error(cause);
      }
    },
    cancel() {
      stream.close();
      ended();
    },
  }, { highWaterMark: 0 });
}

/** The text of a frame. */
function frameText(frame: StreamFrame): string {
  switch (frame.kind) {
    case "event":
      return `id: ${frame.cursor}\ndata: ${JSON.stringify(frame.event)}\n\n`;
    case "caught_up":
    case "ledger":
      return `event: ${frame.kind}\nid: ${frame.cursor}\ndata: ${
        JSON.stringify({ latestLedger: frame.latestLedger })
      }\n\n`;
    case "gap":
      return `event: gap\ndata: ${JSON.stringify(frame.gap)}\n\n`;
    case "revoked":
      return `event: revoked\ndata: ${JSON.stringify({ reason: frame.reason })}\n\n`;
  }
}

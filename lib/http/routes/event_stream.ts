import type { z } from "zod";
import { GatewayError } from "../../errors.ts";
import { subjectsOf } from "../../events/log_reader.ts";
import type { EventStream, StreamFrame } from "../../events/stream.ts";
import type { KeyRecord } from "../../store/store.ts";
import { plainResponse } from "../response.ts";
import { type Endpoint, guarded } from "../endpoint.ts";
import type { AnySpec, Input } from "../endpoint_spec.ts";
import type { RequestContext } from "../request_context.ts";
import { presentedKey } from "../middleware/authenticate.ts";
import type { streamQuery } from "../validation/event_query.ts";

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  // nginx keeps an answer back until it has a good part of it, unless it is told.
  "x-accel-buffering": "no",
};

/** The header in which a reader that comes back says where it was. */
const LAST_EVENT_ID = "Last-Event-ID";

/** Says at once that the stream is there; after how long a browser comes back when it has ended. */
const GREETING = "retry: 2000\n\n";

const encoder = new TextEncoder();

type StreamInput = Input<unknown, z.infer<typeof streamQuery>, unknown>;

/**
 * Makes the handler of a stream of server-sent events (HTML standard, 9.2): as `endpoint`, but for the answer, which goes
 * on until somebody ends it. `spec.response` is what stands in the data of an event.
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
    // Without a body the runtimes would say that its length is 0; of this one they say none, and let it go.
    if (request.method === "HEAD") {
      stream.close();
      return plainResponse(context, new Response(new ReadableStream(), { headers: HEADERS }));
    }
    const check = parts.checkAnswers ? (event: unknown) => void spec.response.parse(event) : undefined;
    return plainResponse(context, new Response(bodyOf(stream, context, check), { headers: HEADERS }));
  }

  /** Why the key that opened the stream would not open it any more. */
  function refusalOf({ parts, request }: RequestContext, { id }: KeyRecord) {
    const presented = presentedKey(request) as string;
    type Verdict = Awaited<ReturnType<typeof parts.verifier.verify>>;
    const judged = (verdict: Verdict): string | undefined => {
      if ("reason" in verdict) return verdict.reason;
      const { record } = verdict;
      return record.id === id && spec.scopes.some((scope) => record.scopes.includes(scope)) ? undefined : "scope";
    };
    return () => {
      const verdict = parts.verifier.verify(presented);
      return verdict instanceof Promise ? verdict.then(judged) : judged(verdict);
    };
  }

  return guarded(spec, ({ env: context }, input: StreamInput) => opened(context, input));
}

/** The cursor at fault was that of the header, and whoever sent it knows of no other. */
function namingHeader(error: unknown): unknown {
  if (!(error instanceof GatewayError) || error.param !== "cursor") return error;
  return new GatewayError(error.code, error.message.replace("cursor", LAST_EVENT_ID), { param: LAST_EVENT_ID });
}

/** The body asks for frames as fast as it is read, and no faster: nothing gathers here for a reader that is slow. */
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
    log.debug("an event stream has ended", { requestId, key: key?.id, durationMs, events, cause });
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

/** A frame as server-sent events are written. */
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

import { setTimeout as runLater } from "node:timers";
import { GatewayError } from "../errors.ts";
import { authenticate, requireScope } from "./middleware/authenticate.ts";
import type { AnySpec } from "./endpoint_spec.ts";
import type { RowPage } from "./exported_list.ts";
import { type FileForm, fileForm, type FileFormat, MEDIA_TYPES } from "./file_formats.ts";
import type { RequestContext } from "./request_context.ts";
import { plainResponse } from "./response.ts";

/** A client that reads nothing for this long is cut off. */
const UNREAD_MS = 60_000;
const RETRY_SECONDS = 5;

const encoder = new TextEncoder();

/**
 * A response that streams a file, page by page as the client reads. Errors before the first page are thrown. A later one breaks
 * the connection off, so a file that ends well is whole.
 *
 * @throws {GatewayError} `rate_limited` while the key has another export under way
 */
export async function exportResponse(
  context: RequestContext,
  spec: AnySpec,
  format: FileFormat,
  pages: AsyncGenerator<RowPage>,
): Promise<Response> {
  const { parts: { exporting }, request } = context;
  const { name, columns } = spec.file!;
  const { id } = context.key!;
  if (exporting.has(id)) {
    const message = "this key has an export under way, and may have one at a time; retry when it has ended";
    throw new GatewayError("rate_limited", message, { headers: { "Retry-After": String(RETRY_SECONDS) } });
  }
  exporting.add(id);
  const texts = textsOf(fileForm(format, columns), pages);
  let response: Response;
  try {
    const first = await texts.next();
    const headers = {
      "content-type": format === "csv" ? `${MEDIA_TYPES.csv}; charset=utf-8; header=present` : MEDIA_TYPES.jsonl,
      "content-disposition": `attachment; filename="${name}.${format}"`,
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      vary: "accept",
    };
    // As of the event stream: the runtimes discard this body.
    if (request.method === "HEAD") response = new Response(new ReadableStream(), { headers });
    else return plainResponse(context, new Response(bodyOf(context, spec, first, texts), { headers }));
  } catch (error) {
    exporting.delete(id);
    throw error;
  }
  exporting.delete(id);
  await texts.return(undefined);
  return plainResponse(context, response);
}

/** The head comes with the first page. */
async function* textsOf({ head, textOf }: FileForm, pages: AsyncGenerator<RowPage>): AsyncGenerator<string> {
  let before = head;
  for await (const { rows } of pages) {
    const text = before + textOf(rows);
    before = "";
    if (text !== "") yield text;
  }
}

/** The body reads a page only when the client has taken the one before. */
function bodyOf(
  context: RequestContext,
  spec: AnySpec,
  first: IteratorResult<string>,
  texts: AsyncGenerator<string>,
): ReadableStream<Uint8Array> {
  const { parts: { exporting, log }, requestId } = context;
  const { id } = context.key!;
  let next: IteratorResult<string> | undefined = first;
  let isOver = false;
  let unread: ReturnType<typeof runLater>;

  function end(cause?: unknown): void {
    if (isOver) return;
    isOver = true;
    clearTimeout(unread);
    exporting.delete(id);
    if (cause !== undefined) log.warn("export broke off", { requestId, key: id, cause });
    void texts.return(undefined).catch(() => {});
  }

  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      clearTimeout(unread);
      try {
        if (next === undefined) {
          // The key may have been disabled meanwhile.
          requireScope(await authenticate(context), spec.scopes);
          next = await texts.next();
        }
        if (isOver) return;
        if (next.done) {
          end();
          return controller.close();
        }
        controller.enqueue(encoder.encode(next.value));
        next = undefined;
      } catch (cause) {
        end(cause);
        return controller.error(cause);
      }
      unread = runLater(() => {
        const cause = new Error(`the client read nothing for ${UNREAD_MS / 1_000} s`);
        end(cause);
        controller.error(cause);
      }, UNREAD_MS);
    },
    cancel: () => end(),
  }, { highWaterMark: 0 });
}

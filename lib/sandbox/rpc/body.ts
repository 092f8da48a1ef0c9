/** The real node's bound of a request's body. */
export const MAX_BODY_BYTES = 512 * 1024;

/** The text of the body, undefined when it is too large. Without a Content-Length it stops reading at the bound. */
export async function readBody(request: Request): Promise<string | undefined> {
  const declared = request.headers.get("Content-Length");
  if (declared !== null) return Number(declared) > MAX_BODY_BYTES ? undefined : await request.text();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of request.body ?? []) {
    length += chunk.length;
    if (length > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return await new Blob(chunks).text();
}

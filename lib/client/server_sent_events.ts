/** One server-sent event (HTML standard, 9.2). */
export interface ServerSentEvent {
  /** `message` when the frame has no name. */
  event: string;
  data: string;
  /** The last id in the stream. */
  id: string;
}

/** More than the gateway ever sends in one line. */
const MAX_LINE = 1_048_576;

/**
 * Reads a body as server-sent events (HTML standard, 9.2.6). Ends with the body, and drops an incomplete last event, as the
 * standard requires.
 * @throws {Error} the body's own error, and for a line above 1 MiB
 */
export async function* serverSentEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let frame: { event: string; data: string[] } = { event: "", data: [] };
  let id = "";
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      rest += decoder.decode(read.value, { stream: true });
      // A carriage return at the end may be the first half of a line break.
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop()!;
      if (rest.length > MAX_LINE) throw new Error("a line of the event stream does not end");
      for (const line of lines) {
        if (line === "") {
          const { event, data } = frame;
          frame = { event: "", data: [] };
          if (data.length > 0) yield { event: event || "message", data: data.join("\n"), id };
          continue;
        }
        const [, field, value] = /^([^:]*)(?:: ?(.*))?$/s.exec(line)!;
        if (field === "event") frame.event = value ?? "";
        else if (field === "data") frame.data.push(value ?? "");
        else if (field === "id" && !value?.includes("\0")) id = value ?? "";
      }
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

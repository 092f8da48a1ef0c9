/** One server-sent event, as the HTML standard (9.2) has it dispatched. */
export interface ServerSentEvent {
  /** `message` where the frame has no name. */
  event: string;
  data: string;
  /** The last id that the stream has said. */
  id: string;
}

/** More than the gateway ever sends in one line: what does not end is no event stream. */
const MAX_LINE = 1_048_576;

/**
 * Reads a body as server-sent events (HTML standard, 9.2.6). Ends with the body; an event that it cuts off is lost, as
 * the standard says.
 * @throws {Error} what reading the body rejects with, and for a line that does not end
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
      // A carriage return at the end may be the first half of a line's end.
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

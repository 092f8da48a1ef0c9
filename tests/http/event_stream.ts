import assert from "node:assert/strict";
import { type ServerSentEvent, serverSentEvents } from "../../lib/client/server_sent_events.ts";
import type { GatewayUnderTest } from "./test_gateway.ts";

/** A frame with its data parsed. */
export interface ReadFrame extends Omit<ServerSentEvent, "data"> {
  // The tests look at frames of every shape.
  // deno-lint-ignore no-explicit-any
  data: any;
}

/** A stream that is open, read frame by frame. */
export interface OpenStream {
  response: Response;
  /** The next frame; undefined: the stream has ended. */
  next(): Promise<ReadFrame | undefined>;
  /** All frames up to and including the first with this name. */
  until(name: string): Promise<ReadFrame[]>;
  close(): Promise<void>;
}

/** Opens a live stream of a gateway, which must answer 200. */
export async function openStream(
  { gateway, apiKey }: Pick<GatewayUnderTest, "gateway" | "apiKey">,
  query = "",
  { key = apiKey, headers = {} }: { key?: string; headers?: Record<string, string> } = {},
): Promise<OpenStream> {
  const request = new Request(`http://gateway.test/v1/events/stream${query}`, {
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const response = await gateway.fetch(request, { remoteAddress: "198.51.100.7" });
  assert.equal(response.status, 200, response.status === 200 ? "" : await response.text());
  return readStream(response);
}

export function readStream(response: Response): OpenStream {
  const frames = serverSentEvents(response.body!);
  async function next(): Promise<ReadFrame | undefined> {
    const { value } = await frames.next();
    return value === undefined ? undefined : { ...value, data: JSON.parse(value.data) };
  }
  return {
    response,
    next,
    async until(name) {
      const read: ReadFrame[] = [];
      while (read.at(-1)?.event !== name) {
        const frame = await next();
        assert.ok(frame, `the stream ended before ${name}, after ${JSON.stringify(read)}`);
        read.push(frame);
      }
      return read;
    },
    close: async () => void await frames.return(undefined),
  };
}

/** The events of frames. */
export const eventsOf = (frames: ReadFrame[]) => frames.filter(({ event }) => event === "message");

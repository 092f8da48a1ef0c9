import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  /** As it came. */
  body: string;
  atMs: number;
}

export interface Receiver {
  /** `http://127.0.0.1:port`. */
  url: string;
  received: Received[];
  /** Waits until so many deliveries have arrived, at most so long. */
  until(count: number, timeoutMs?: number): Promise<Received[]>;
  stop(): Promise<void>;
}

/** An application's back end: receives webhooks on this machine, and returns the status of `answer`, or 200. */
export async function startReceiver(
  answer: (request: Received) => number | Promise<number> = () => 200,
): Promise<Receiver> {
  const received: Received[] = [];
  let onReceived: (() => void) | undefined;
  const server = createServer((request, response) => {
    const chunks: Uint8Array[] = [];
    request.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    request.on("end", async () => {
      const size = chunks.reduce((sum, { length }) => sum + length, 0);
      const bytes = new Uint8Array(size);
      let at = 0;
      for (const chunk of chunks) {
        bytes.set(chunk, at);
        at += chunk.length;
      }
      const body = new TextDecoder().decode(bytes);
      const one = { path: request.url ?? "", headers: request.headers, body, atMs: Date.now() };
      received.push(one);
      onReceived?.();
      response.statusCode = await answer(one);
      response.end("thanks");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    async until(count, timeoutMs = 300_000) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const timeUp = new Promise<"timeUp">((resolve) => timer = setTimeout(() => resolve("timeUp"), timeoutMs));
      while (received.length < count) {
        const more = new Promise<"more">((resolve) => onReceived = () => resolve("more"));
        if (await Promise.race([more, timeUp]) === "timeUp") {
          throw new Error(`${received.length} of ${count} webhooks came within ${timeoutMs} ms`);
        }
      }
      clearTimeout(timer);
      return received;
    },
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

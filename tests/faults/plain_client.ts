import { connect, type Socket } from "node:net";

export interface PlainAnswer {
  status: number;
  headers: Map<string, string>;
  body: string;
}

export interface PlainRequest {
  body?: string;
  headers?: Record<string, string>;
}

/** The connection broke: `code` is what the system said, or `CLOSED` where an answer was still to come. */
export class ConnectionError extends Error {
  /** `isFresh`: the server never answered anything on this connection. */
  constructor(readonly code: string, readonly isFresh: boolean) {
    super(code);
  }
}

/**
 * An HTTP/1.1 client that does nothing by itself: one kept connection, no retries. It opens a new one when the server
 * has said that it closes the last, or has closed it while nothing was asked.
 */
export function plainClient(port: number, headers: Record<string, string> = {}) {
  let socket: Socket | undefined;
  let answered: ((answer: PlainAnswer) => void) | undefined;
  let broken: ((error: Error) => void) | undefined;
  let received = "";
  let isFresh = true;

  function open(): Socket {
    const opened = connect(port, "127.0.0.1");
    isFresh = true;
    received = "";
    const over = (code: string) => {
      opened.destroy();
      // One that was given up already says so late: the next request is another connection's.
      if (socket !== opened) return;
      socket = undefined;
      broken?.(new ConnectionError(code, isFresh));
    };
    opened.setEncoding("latin1").on("data", (text) => (received += text, take()));
    opened.on("error", (error) => over((error as { code?: string }).code ?? error.message));
    opened.on("end", () => over("CLOSED"));
    opened.on("close", () => over("CLOSED"));
    return opened;
  }

  function take(): void {
    const headEnd = received.indexOf("\r\n\r\n");
    if (headEnd < 0) return;
    const [statusLine, ...lines] = received.slice(0, headEnd).split("\r\n");
    const answerHeaders = new Map(lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }));
    const end = headEnd + 4 + Number(answerHeaders.get("content-length"));
    if (received.length < end) return;
    const body = received.slice(headEnd + 4, end);
    received = received.slice(end);
    isFresh = false;
    if (answerHeaders.get("connection")?.toLowerCase() === "close") close();
    answered?.({ status: Number(statusLine!.split(" ")[1]), headers: answerHeaders, body });
  }

  function close(): void {
    const last = socket;
    socket = undefined;
    last?.destroy();
  }

  return {
    close,
    /** Sends one request on the kept connection. Rejects with a `ConnectionError`. */
    request(method: string, path: string, { body, headers: own }: PlainRequest = {}): Promise<PlainAnswer> {
      return new Promise<PlainAnswer>((resolve, reject) => {
        answered = resolve;
        broken = reject;
        socket ??= open();
        const all = {
          host: `127.0.0.1:${port}`,
          ...headers,
          ...own,
          ...(body === undefined ? {} : { "content-type": "application/json", "content-length": String(body.length) }),
        };
        const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join("");
        socket.write(`${method} ${path} HTTP/1.1\r\n${lines}\r\n${body ?? ""}`);
      }).finally(() => answered = broken = undefined);
    },
  };
}

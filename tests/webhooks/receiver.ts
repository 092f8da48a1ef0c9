import net from "node:net";
import tls from "node:tls";

/** A request as it came over the wire. */
export interface ReceivedRequest {
  /** Request line and headers, without the empty line. */
  head: string;
  body: string;
  /** 1 for the first connection. */
  connection: number;
  /** The name that TLS was asked for; undefined without TLS or name. */
  serverName?: string;
}

export interface Receiver {
  port: number;
  requests: ReceivedRequest[];
  connections: number;
  /** Connections that were accepted and are not closed yet. */
  open: Set<net.Socket>;
  close(): Promise<void>;
}

export interface ReceiverOptions {
  address?: string;
  port?: number;
  tls?: { key: string; cert: string };
}

/** The answer to a request: a text is written unchanged, and the connection stays open. */
export type Answering = (request: ReceivedRequest, socket: net.Socket) => string | void;

export const OK_ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** An endpoint that answers byte by byte what a test says, however wrong. */
export async function startReceiver(
  answer: Answering = () => OK_ANSWER,
  { address = "127.0.0.1", port = 0, tls: secure }: ReceiverOptions = {},
): Promise<Receiver> {
  const receiver = { requests: [] as ReceivedRequest[], connections: 0, open: new Set<net.Socket>() };

  function onConnection(socket: net.Socket): void {
    const connection = ++receiver.connections;
    receiver.open.add(socket);
    socket.on("close", () => receiver.open.delete(socket));
    socket.on("error", () => {});
    let held = "";
    socket.setEncoding("utf8");
    socket.on("data", (text: unknown) => {
      held += text;
      const end = held.indexOf("\r\n\r\n");
      const length = Number(/^content-length: (\d+)$/im.exec(held)?.[1]);
      const rest = held.slice(end + 4);
      if (end === -1 || new TextEncoder().encode(rest).length < length) return;
      const serverName = (socket as { servername?: string | false }).servername || undefined;
      const request = { head: held.slice(0, end), body: rest, connection, serverName };
      held = "";
      receiver.requests.push(request);
      const raw = answer(request, socket);
      if (raw !== undefined) socket.write(raw);
    });
  }

  const server = secure === undefined ? net.createServer(onConnection) : tls.createServer(secure, onConnection);
  // Clients that refuse the certificate break off the handshake.
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(port, address, resolve));
  return Object.assign(receiver, {
    port: (server.address() as net.AddressInfo).port,
    close(): Promise<void> {
      for (const socket of receiver.open) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  });
}

import { connect, createServer, type Socket } from "node:net";

/** A way to a port of this machine that a test can stall and cut. */
export interface PostgresProxy {
  port: number;
  /** Keeps and accepts connections, but holds all bytes back until `flow`. */
  stall(): void;
  /** All connections break, and so does each new one. */
  cut(): void;
  /** Forwards all bytes, first those that were held back: they arrive late, as after retransmission. */
  flow(): void;
  close(): void;
}

export async function startPostgresProxy(port: number): Promise<PostgresProxy> {
  const sockets = new Set<Socket>();
  let state: "flows" | "stalled" | "cut" = "flows";
  let kept: (() => void)[] = [];
  const pass = (act: () => void) => void (state === "stalled" ? kept.push(act) : act());

  function cut(): void {
    state = "cut";
    kept = [];
    for (const socket of sockets) socket.destroy();
  }

  const server = createServer((client) => {
    if (state === "cut") return client.destroy();
    const upstream = connect(port, "127.0.0.1");
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      sockets.add(from);
      from.on("data", (data) => pass(() => to.write(data)));
      from.on("close", () => {
        sockets.delete(from);
        pass(() => to.end());
      });
      from.on("error", () => pass(() => to.destroy()));
    }
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    port: (server.address() as { port: number }).port,
    stall: () => void (state = "stalled"),
    cut,
    flow() {
      state = "flows";
      for (const act of kept.splice(0)) act();
    },
    close() {
      server.close();
      cut();
    },
  };
}

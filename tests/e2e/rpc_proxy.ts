import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy of the sandbox's node that a test can break and repair. */
export interface RpcProxy {
  /** `http://127.0.0.1:port`; any path leads to it. */
  url: string;
  /** Methods it was asked, in order. */
  asked: string[];
  /** The fault: closes all connections, or one of them, or answers with this HTTP status. */
  fault: "breaks off" | "breaks off once" | number | undefined;
  /** Changes the answers of the sandbox's node. */
  change: Change | undefined;
  /** Holds the answers to this method back, from the next one on, until they are released. */
  hold(method: string): { arrived: Promise<void>; release(): void };
  stop(): Promise<void>;
}

// The answers are of every shape.
// deno-lint-ignore no-explicit-any
export type Change = (result: any, method: string) => unknown;

/** @param target URL of the sandbox's node */
export async function startRpcProxy(target: string): Promise<RpcProxy> {
  let held: { method: string; arrived: () => void; released: Promise<void> } | undefined;
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => body += text);
    request.on("end", async () => {
      const { method } = JSON.parse(body) as { method: string };
      proxy.asked.push(method);
      if (held?.method === method) {
        held.arrived();
        await held.released;
      }
      if (proxy.fault === "breaks off" || proxy.fault === "breaks off once") {
        if (proxy.fault === "breaks off once") proxy.fault = undefined;
        return request.socket.destroy();
      }
      if (proxy.fault !== undefined) return response.writeHead(proxy.fault).end("no");
      try {
        const headers = { "content-type": "application/json" };
        const answer = await (await fetch(target, { method: "POST", headers, body })).json();
        if (answer.result !== undefined && proxy.change) answer.result = proxy.change(answer.result, method);
        response.writeHead(200, headers).end(JSON.stringify(answer));
      } catch {
        // The sandbox has ended, so this node ends too.
        request.socket.destroy();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const proxy: RpcProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    fault: undefined,
    change: undefined,
    hold(method) {
      let release = () => {};
      const arrived = new Promise<void>((resolve) => {
        const released = new Promise<void>((resolve) => release = resolve);
        held = { method, arrived: resolve, released };
      });
      return { arrived, release: () => (held = undefined, release()) };
    },
    stop() {
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return proxy;
}

import assert from "node:assert/strict";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { startServe } from "../faults/serve_process.ts";
import { createClient } from "./client.ts";
import { flagsFor, makeKey, type SandboxInfo } from "./sandbox_process.ts";

/** Few enough to be used up, and enough for a gateway without strangers. */
const DESCRIPTORS = 128;
const CONNECTIONS = 2_000;

/**
 * Strangers open thousands of connections, most in the middle of a request, until the gateway has no file descriptors.
 * The gateway keeps running, serves clients and reaches its node meanwhile.
 */
export async function tellStrangers(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const store = `sqlite:${join(folder, "strangers.db")}`;
  const key = await makeKey(command, store, { scopes: "read", rate: 100_000 });
  const limited = ["sh", "-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "sh", ...command];
  const gateway = await startServe(flagsFor(info, { store }), { command: limited });
  const sockets: Socket[] = [];
  try {
    const port = Number(new URL(gateway.url).port);
    const half = (at: number) =>
      at % 2 === 0
        ? "GET /v1/health HTTP/1.1\r\nHost: a\r\n"
        : `POST /v1/payments/check HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`;
    for (let at = 0; at < CONNECTIONS; at++) {
      const socket = connect(port, "127.0.0.1", () => socket.write(half(at)));
      sockets.push(socket.on("error", () => {}));
    }
    await new Promise((resolve) => setTimeout(resolve, 500));
    await isServing(gateway.url, key);
    assert.ok(gateway.lines().some(({ message }) => String(message).includes("file descriptors")), gateway.log());
  } finally {
    for (const socket of sockets) socket.destroy();
  }
  await isServing(gateway.url, key);
  gateway.signal("SIGINT");
  assert.equal(await gateway.ended, 0, gateway.log());
}

/** Checks the health, and a read for which the gateway needs a connection itself. Connections may be refused at first. */
async function isServing(url: string, key: string): Promise<void> {
  const api = createClient(url, key);
  for (const deadline = Date.now() + 30_000;;) {
    try {
      assert.equal((await api.get("/v1/health")).status, 200);
      assert.equal((await api.get(`/v1/devices/${crypto.randomUUID().replaceAll("-", "").repeat(2)}`)).status, 404);
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

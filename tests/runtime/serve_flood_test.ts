// needs: runtime
import { strict as assert } from "node:assert";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { dirname, join } from "node:path";
import process from "node:process";
import { afterEach, test } from "node:test";
import { fileURLToPath } from "node:url";

const SCRIPT = join(dirname(fileURLToPath(import.meta.url)), "serve_process.ts");
const DESCRIPTORS = 64;
const isDeno = "deno" in process.versions;

let child: ChildProcess | undefined;
const sockets: Socket[] = [];
afterEach(() => {
  child?.kill("SIGKILL");
  for (const socket of sockets.splice(0)) socket.destroy();
});

async function startServer(): Promise<URL> {
  const runtime = isDeno ? [process.execPath, "run", "-A", "--no-check"] : [process.execPath];
  const limited = ["-c", `ulimit -n ${DESCRIPTORS}; exec "$@"`, "sh", ...runtime, SCRIPT];
  child = spawn("sh", limited, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = await once(child.stdout!.setEncoding("utf8"), "data");
  return new URL(String(line).trim());
}

function open({ port, hostname }: URL, sent = ""): Socket {
  const socket = connect(Number(port), hostname, () => socket.write(sent));
  socket.on("error", () => {});
  sockets.push(socket);
  return socket;
}

/** Resolves when a connection is open or was refused. */
function settled(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
}

/** The answer on a new connection; empty when the server refuses it or closes it without an answer. */
async function ask(url: URL, path: string): Promise<string> {
  const socket = open(url, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (part) => text += part);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** Repeats the request until an answer: the server may refuse connections while descriptors are short. */
async function asked(url: URL): Promise<void> {
  while (!(await ask(url, "/")).endsWith("answered")) {
    assert.equal(child!.exitCode, null, "the server has ended");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const HALF_BODY = "POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{";
const FLOODS: [what: string, sent: string, count: number][] = [
  ["silent connections beyond the file descriptors", "", 20 * DESCRIPTORS],
  ["half-sent requests beyond the file descriptors", "GET / HTTP/1.1\r\nHost: a\r\n", 20 * DESCRIPTORS],
  ["half-sent bodies beyond the file descriptors", HALF_BODY, 20 * DESCRIPTORS],
  // The server accepts all of them, and has no descriptor left for itself.
  ["half-sent bodies that take most of the file descriptors", HALF_BODY, 0.8 * DESCRIPTORS],
];

/** Connections one after the other take the last descriptors, so the server cannot accept the next one. */
test("the server ends half-sent bodies that take all file descriptors, and still answers", async () => {
  const url = await startServer();
  for (let n = 0; n < 2 * DESCRIPTORS; n++) {
    await settled(open(url, HALF_BODY));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await asked(url);
  assert.equal(child!.exitCode, null);
});

for (const [what, sent, count] of FLOODS) {
  test(`the server survives a flood of ${what}, and answers a request in flight`, async () => {
    const url = await startServer();
    const slow = ask(url, "/slow");
    await new Promise((resolve) => setTimeout(resolve, 100));
    const flood = Array.from({ length: count }, () => open(url, sent));
    await Promise.all(flood.slice(0, DESCRIPTORS / 4).map(settled));
    assert.match(await slow, /answered$/);
    // The server sheds silent connections before their idle timeout.
    await asked(url);
    for (const socket of flood) socket.destroy();
    await asked(url);
    assert.equal(child!.exitCode, null);
  });
}

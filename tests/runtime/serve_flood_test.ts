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

/** When a connection stands, or has been refused. */
function settled(socket: Socket): Promise<void> {
  return new Promise((resolve) => socket.once("connect", resolve).once("close", () => resolve()));
}

/** What a connection of its own is answered, empty when it is refused or closed without an answer. */
async function ask(url: URL, path: string): Promise<string> {
  const socket = open(url, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  let text = "";
  socket.setEncoding("utf8").on("data", (part) => text += part);
  await new Promise((resolve) => socket.once("close", resolve));
  return text;
}

/** Asks until there is an answer: connections may be refused while descriptors are short. */
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
  // All of them are accepted, and nothing is left for the server itself.
  ["half-sent bodies that takes most of the file descriptors", HALF_BODY, 0.8 * DESCRIPTORS],
];

/** Whoever comes one by one takes the last descriptors, too: nothing is left then with which the next could be accepted. */
test("half-sent bodies that fill the server end, and the server goes on", async () => {
  const url = await startServer();
  for (let n = 0; n < 2 * DESCRIPTORS; n++) {
    await settled(open(url, HALF_BODY));
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await asked(url);
  assert.equal(child!.exitCode, null);
});

for (const [what, sent, count] of FLOODS) {
  test(`a flood of ${what} ends, and the server and a request under way survive`, async () => {
    const url = await startServer();
    const slow = ask(url, "/slow");
    await new Promise((resolve) => setTimeout(resolve, 100));
    const flood = Array.from({ length: count }, () => open(url, sent));
    await Promise.all(flood.slice(0, DESCRIPTORS / 4).map(settled));
    assert.match(await slow, /answered$/);
    // Not by an idle time-out: what is silent is shed.
    await asked(url);
    for (const socket of flood) socket.destroy();
    await asked(url);
    assert.equal(child!.exitCode, null);
  });
}

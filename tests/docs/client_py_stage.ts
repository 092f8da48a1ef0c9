import { execFile } from "node:child_process";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { isInstalled } from "./tools.ts";

const DOCS = join(import.meta.dirname!, "../../docs");
const RUN_MS = 30_000;
/** The reason to skip a test on a machine without Python. */
export const skip = isInstalled("python3") ? false : "needs python3";

const run = promisify(execFile);

/** The answer's text, or a function that makes it from the first line of the request. */
type Answer = string | ((asked: string) => string);

/**
 * Runs lines of Python that use docs/client.py against a server that sends these answers, one for each connection.
 * `result`: the variable `result` of the script. `asked`: the first line of each request.
 * `keys`: the `Idempotency-Key` of each request.
 */
export async function python(
  lines: string,
  answers: Answer[],
): Promise<{ result: unknown; asked: string[]; keys: unknown[] }> {
  const asked: string[] = [];
  const keys: unknown[] = [];
  const server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", (data) => {
      asked.push(String(data).split("\r\n")[0]!);
      keys.push(/^Idempotency-Key: (.+)\r$/im.exec(String(data))?.[1]);
      const answer = answers[Math.min(asked.length, answers.length) - 1]!;
      socket.end(typeof answer === "string" ? answer : answer(asked.at(-1)!));
      socket.resume();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const script = `import json, sys
sys.path.insert(0, ${JSON.stringify(DOCS)})
import client
from client import *
gateway = Gateway("http://127.0.0.1:${port}", "service_sk_x", patience=5)
def refusal(act):
    try:
        return act()
    except GatewayError as error:
        return "GatewayError " + error.reason
    except Exception as error:
        return type(error).__name__
${lines}
print(json.dumps(result))
`;
  try {
    // Nothing listens there: no request to this machine may go through a proxy.
    const env = { PATH: process.env.PATH, PYTHONDONTWRITEBYTECODE: "1", http_proxy: "http://127.0.0.1:9" };
    const { stdout } = await run("python3", ["-c", script], { env, timeout: RUN_MS });
    return { result: JSON.parse(stdout), asked, keys };
  } finally {
    server.close();
  }
}

/** An answer of HTTP, its body in JSON. */
export const json = (body: unknown, status = "200 OK", more = "") => {
  const text = JSON.stringify(body);
  return `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${text.length}\r\nConnection: close\r\n\r\n${text}`;
};
/** The answer without its last five characters, as when the connection breaks off. */
export const cut = (answer: string) => answer.slice(0, -5);

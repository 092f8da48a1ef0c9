import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { asArguments, environment, folderFor, sourceCommand } from "../e2e/sandbox_process.ts";
import { sendSignal } from "../send_signal.ts";

export interface ServeProcess {
  /** `http://host:port`. */
  url: string;
  pid: number;
  /** All that it wrote to standard error so far. */
  log(): string;
  /** Every line it logged so far. */
  lines(): Record<string, unknown>[];
  signal(signal: "SIGTERM" | "SIGINT"): void;
  /** Its exit code, when it has ended. */
  ended: Promise<number | null>;
  /** Ends it the hard way where it has not ended: for what a failed test leaves behind. */
  kill(): void;
}

/**
 * A port of the loopback interface that nobody listens on. None of those that systems hand out by themselves (from 32768
 * on, RFC 6335 from 49152 on): another test, or a connection, would be given it before it is used here.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** Starts `gateway serve`, from its sources unless another command is given, and waits until it listens. */
export async function startServe(
  flags: Record<string, string>,
  { command = sourceCommand(), env = {} }: { command?: string[]; env?: Record<string, string> } = {},
): Promise<ServeProcess> {
  const [program, ...args] = command;
  const child = spawn(program!, [...args, "serve", ...asArguments(flags)], {
    stdio: ["ignore", "ignore", "pipe"],
    cwd: folderFor(command),
    env: environment(env),
  });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let text = "";
  const url = await new Promise<string>((resolve, reject) => {
    let isListening = false;
    child.stderr.setEncoding("utf8").on("data", (more: string) => {
      text += more;
      // A log may grow to many megabytes: it is not looked through again with each line.
      if (isListening) return;
      const listening = /"message":"gateway is listening","url":"([^"]+)"/.exec(text);
      if (listening === null) return;
      isListening = true;
      resolve(listening[1]!);
    });
    ended.then((code) => reject(new Error(`gateway serve ended with ${code}:\n${text}`)));
  });
  return {
    url,
    pid: child.pid!,
    log: () => text,
    lines: () => text.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line)),
    // Not child.kill(): after it Deno reports the signal even where the child answered it with an exit code.
    signal: (signal) => sendSignal(child.pid!, signal),
    ended,
    kill: () => {
      if (child.exitCode === null && child.signalCode === null) sendSignal(child.pid!, "SIGKILL");
    },
  };
}

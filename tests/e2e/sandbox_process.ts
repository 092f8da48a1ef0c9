import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** What `gateway sandbox --json` prints on one line. */
export interface SandboxInfo {
  gateway: string;
  rpc: string;
  friendbot: string;
  store: string;
  networkPassphrase: string;
  contracts: { deviceRegistry: string; agentRegistry: string; paymentEscrow: string };
  asset: string;
  apiKey: string;
  accounts: Record<"owner" | "agent" | "merchant", { address: string; secret: string }>;
}

export interface SandboxProcess {
  info: SandboxInfo;
  /** All that was written to standard error so far. */
  log(): string;
  /** Ends it with the signal (SIGTERM) and answers its exit code. */
  stop(signal?: "SIGTERM" | "SIGINT" | "SIGKILL"): Promise<number | null>;
}

/** How to run the program from its sources on the runtime that runs the test. */
export function sourceCommand(): string[] {
  const isDeno = "deno" in process.versions;
  return isDeno
    ? [process.execPath, "run", "-A", "--no-check", join(ROOT, "main.ts")]
    : [process.execPath, join(ROOT, "main.ts")];
}

/** Starts `gateway sandbox --json` on free ports and waits for its line. */
export async function startSandbox(command: string[] = sourceCommand(), extra: string[] = []): Promise<SandboxProcess> {
  const args = [
    ...command.slice(1),
    "sandbox",
    "--json",
    "--port",
    "0",
    "--rpc-port",
    "0",
    "--ledger-ms",
    "0",
    ...extra,
  ];
  const child = spawn(command[0]!, args, { stdio: ["ignore", "pipe", "pipe"], env: environment() });
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  const line = await new Promise<string>((resolve, reject) => {
    let out = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.includes("\n")) resolve(out.slice(0, out.indexOf("\n")));
    });
    ended.then((code) => reject(new Error(`the sandbox ended with ${code} before it was ready:\n${errors}`)));
  });
  return {
    info: JSON.parse(line),
    log: () => errors,
    stop: (signal = "SIGTERM") => {
      // Not child.kill(): after it Deno reports the signal even where the child answered it with an exit code.
      process.kill(child.pid!, signal);
      return ended;
    },
  };
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program to its end. */
export async function runGateway(
  args: string[],
  env: Record<string, string> = {},
  command = sourceCommand(),
): Promise<Finished> {
  const child = spawn(command[0]!, [...command.slice(1), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: environment(env),
  });
  const finished: Finished = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => finished.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => finished.stderr += text);
  return await new Promise((resolve) => child.once("close", (code) => resolve({ ...finished, code })));
}

/** This process's environment without the gateway's own settings, so that a developer's shell does not change a test. */
export function environment(extra: Record<string, string> = {}): Record<string, string> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(entries.filter(([name]) => !name.startsWith("SERVICE_API_"))), ...extra };
}

import { Keypair } from "@stellar/stellar-sdk";
import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { after, before } from "node:test";
import { sendSignal } from "../send_signal.ts";

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

/**
 * The command of whoever runs the program in the process of the test. `serve`, `sandbox`, `listen` and `tail` end their
 * process once they have begun: only what is wrong with their flags is for it.
 */
export const HERE: string[] = [];

/** Where a command runs: an executable in its own folder, where nothing of the sources is; the sources anywhere. */
export function folderFor(command: string[]): string | undefined {
  return command.length === 1 ? dirname(command[0]!) : undefined;
}

/** Starts `gateway sandbox --json` on free ports and waits for its line. */
export async function startSandbox(
  command: string[] = sourceCommand(),
  extra: string[] = [],
  env: Record<string, string> = {},
): Promise<SandboxProcess> {
  const args = [
    ...command.slice(1),
    "sandbox",
    "--json",
    "--port",
    "0",
    ...(extra.includes("--rpc-port") ? [] : ["--rpc-port", "0"]),
    ...(extra.includes("--ledger-ms") ? [] : ["--ledger-ms", "0"]),
    ...extra,
  ];
  const child = spawn(command[0]!, args, {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folderFor(command),
    env: environment(env),
  });
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
      if (child.exitCode === null && child.signalCode === null) sendSignal(child.pid!, signal);
      return ended;
    },
  };
}

/** The sandbox process of a file's tests, started before the first of them and stopped after the last. */
export function sandboxOfFile(): SandboxProcess {
  const sandbox = {} as SandboxProcess;
  before(async () => void Object.assign(sandbox, await startSandbox()));
  after(() => sandbox.stop());
  return sandbox;
}

/** Flags of `gateway serve` (and `doctor`) for another gateway on the sandbox's network, on any free port. */
export function flagsFor(
  { rpc, networkPassphrase, contracts }: SandboxInfo,
  own: Record<string, string> = {},
): Record<string, string> {
  return {
    "port": "0",
    "rpc-url": rpc,
    "network-passphrase": networkPassphrase,
    "device-registry": contracts.deviceRegistry,
    "agent-registry": contracts.agentRegistry,
    "payment-escrow": contracts.paymentEscrow,
    ...own,
  };
}

/** A funded account of its own: two stories that pay at the same time must not share a sequence number. */
export async function newAccount({ friendbot }: SandboxInfo): Promise<{ address: string; secret: string }> {
  const keypair = Keypair.random();
  const funded = await fetch(`${friendbot}?addr=${keypair.publicKey()}`);
  if (!funded.ok) throw new Error(`the friendbot answered ${funded.status}: ${await funded.text()}`);
  await funded.body?.cancel();
  return { address: keypair.publicKey(), secret: keypair.secret() };
}

/** Flags as they are written on a command line. */
export function asArguments(flags: Record<string, string>): string[] {
  return Object.entries(flags).flatMap(([flag, value]) => [`--${flag}`, value]);
}

export interface Finished {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the program to its end, in this process where the command is `HERE`. */
export async function runGateway(
  args: string[],
  env: Record<string, string> = {},
  command = sourceCommand(),
): Promise<Finished> {
  if (command === HERE) return await (await import("./here.ts")).runHere(args, env);
  const child = spawn(command[0]!, [...command.slice(1), ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    cwd: folderFor(command),
    env: environment(env),
  });
  const finished: Finished = { code: null, stdout: "", stderr: "" };
  child.stdout.setEncoding("utf8").on("data", (text: string) => finished.stdout += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => finished.stderr += text);
  return await new Promise((resolve) => child.once("close", (code) => resolve({ ...finished, code })));
}

/** Makes an API key with `gateway keygen` and answers it. */
export async function makeKey(
  command: string[],
  store: string,
  { scopes, rate }: { scopes: string; rate: number },
): Promise<string> {
  const args = ["--name", "story", "--scopes", scopes, "--rate", String(rate), "--store", store, "--json"];
  const { code, stdout, stderr } = await runGateway(["keygen", ...args], {}, command);
  if (code !== 0) throw new Error(`gateway keygen ended with ${code}:\n${stderr}`);
  return JSON.parse(stdout).key;
}

/** This process's environment without the gateway's own settings, so that a developer's shell does not change a test. */
export function environment(extra: Record<string, string> = {}): Record<string, string> {
  const entries = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { ...Object.fromEntries(entries.filter(([name]) => !name.startsWith("SERVICE_API_"))), ...extra };
}

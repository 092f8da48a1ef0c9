import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import process from "node:process";
import { environment } from "../e2e/sandbox_process.ts";
import packageJson from "../../package.json" with { type: "json" };

export type RuntimeName = "bun" | "deno";
export const RUNTIMES: RuntimeName[] = ["bun", "deno"];

/** Before a command: it runs on the first CPU only. */
export const PINNED = ["taskset", "-c", "0"];

/** The command that runs a script of the project on a runtime at its pinned version. */
export function runtimeCommand(runtime: RuntimeName): string[] {
  const path = process.env[`BENCH_${runtime.toUpperCase()}`];
  const command = path === undefined ? ["npx", "--yes", `${runtime}@${packageJson.config[runtime]}`] : [path];
  return runtime === "bun" ? command : [...command, "run", "-A", "--no-check"];
}

export interface Started {
  child: ChildProcess;
  /** Its first line of standard output. */
  line: string;
  /** Process id of the program itself, below any wrapper. */
  pid: number;
  stop(): Promise<void>;
}

/** Starts a program pinned to a CPU and waits for its first line. */
export function startPinned(cpu: number, command: string[]): Promise<Started> {
  return start(["taskset", "-c", String(cpu), ...command]);
}

/** Starts a program and waits for its first line. */
export async function start(command: string[]): Promise<Started> {
  const [program, ...args] = command;
  const child = spawn(program!, args, { stdio: ["ignore", "pipe", "inherit"], detached: true, env: environment() });
  const line = await new Promise<string>((resolve, reject) => {
    let out = "";
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      out += text;
      if (out.includes("\n")) resolve(out.slice(0, out.indexOf("\n")));
    });
    child.once("exit", (code) => reject(new Error(`${command.join(" ")} ended with ${code}`)));
  });
  return {
    child,
    line,
    pid: innermost(child.pid!),
    async stop() {
      const ended = once(child, "exit");
      process.kill(-child.pid!, "SIGTERM");
      await ended;
    },
  };
}

/** npx starts a shell that starts the program: the last of the chain is the one that works. */
export function innermost(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  return children === "" ? pid : innermost(Number(children.split(" ").at(-1)));
}

/** CPU time a process has used so far, in microseconds. */
export function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]!.split(" ");
  const ticksPerSecond = 100;
  return (Number(fields[11]) + Number(fields[12])) * (1_000_000 / ticksPerSecond);
}

/** The most resident memory that a process had so far, in MiB. */
export function peakMib(pid: number): number {
  const line = readFileSync(`/proc/${pid}/status`, "utf8").split("\n").find((text) => text.startsWith("VmHWM:"))!;
  return Number(line.replace(/\D/g, "")) / 1024;
}

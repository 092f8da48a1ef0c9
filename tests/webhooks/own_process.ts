import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const FOLDER = dirname(fileURLToPath(import.meta.url));

/** Runs a file of this folder in a process of its own, on the runtime that runs the test; answers the JSON it prints. */
export async function runOwnProcess<T>(
  file: string,
  { args = [], env = {}, wrapper = [] }: { args?: string[]; env?: Record<string, string>; wrapper?: string[] } = {},
): Promise<T> {
  const runtime = "deno" in process.versions ? [process.execPath, "run", "-A", "--no-check"] : [process.execPath];
  const [command, ...rest] = [...wrapper, ...runtime, join(FOLDER, file), ...args];
  const child = spawn(command!, rest, { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, ...env } });
  let [out, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
  child.stderr.setEncoding("utf8").on("data", (text: string) => errors += text);
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (code !== 0) throw new Error(`${file} ended with ${code}: ${errors}${out}`);
  return JSON.parse(out) as T;
}

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import process from "node:process";
import { environment, sourceCommand } from "./sandbox_process.ts";

/** A command that runs until it is stopped, from the sources by default, with its output so far. */
export function startCommand(
  args: string[],
  { env = {}, stdin = "", command = sourceCommand() }: {
    env?: Record<string, string>;
    stdin?: string;
    command?: string[];
  } = {},
) {
  const [program, ...source] = command;
  const child = spawn(program!, [...source, ...args], { stdio: "pipe", env: environment(env) });
  const ended = new Promise<number | null>((resolve) => child.once("close", resolve));
  let [out, errors] = ["", ""];
  let onMore = () => {};
  child.stdout.setEncoding("utf8").on("data", (text: string) => (out += text, onMore()));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text, onMore()));
  child.stdin.end(stdin);
  async function until(isSo: (out: string, errors: string) => boolean): Promise<string> {
    while (!isSo(out, errors)) {
      await Promise.race([new Promise<void>((resolve) => onMore = resolve), ended]);
      assert.equal(child.exitCode, null, errors);
    }
    return out;
  }
  return {
    isGone: () => child.exitCode !== null,
    until,
    /** Waits for the first match in the output. */
    out: async (pattern: RegExp) => pattern.exec(await until((out) => pattern.test(out)))!,
    ended,
    stop: () => (process.kill(child.pid!, "SIGINT"), ended),
    errors: () => errors,
  };
}

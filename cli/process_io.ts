import { Buffer } from "node:buffer";
import { basename } from "node:path";
import process from "node:process";
import { CommandError, type CommandIo } from "./command.ts";
import { isOutputUnread, openStandardError, writeErrorOutput, writeOutput } from "./terminal/output.ts";

/** The input and output of this process. */
export function processIo(): CommandIo {
  const isTerminal = process.stdout.isTTY === true;
  return {
    program: program(),
    env: process.env,
    stdout: writeOutput,
    stderr: openStandardError(),
    stderrOrFail: writeErrorOutput,
    get isOutputUnread() {
      return isOutputUnread();
    },
    stdin: readStdin,
    isTerminal,
    get columns() {
      return isTerminal ? process.stdout.columns || undefined : undefined;
    },
    isErrorTerminal: process.stderr.isTTY === true,
    ...(process.stdin.isTTY && process.stderr.isTTY ? { ask } : {}),
    now: () => Date.now(),
  };
}

/** The command that starts this program. When it runs from its sources, only the package's script finds the runtime. */
function program(): string {
  const isFromSources = ["bun", "deno"].includes(basename(process.execPath).replace(/\.exe$/, ""));
  return isFromSources ? "npm run -s gateway --" : process.argv0;
}

async function readStdin(): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of process.stdin) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function ask(question: string, isSecret = false): Promise<string> {
  const { createInterface } = await import("node:readline");
  const { Writable } = await import("node:stream");
  // readline echoes the input itself, so an output that drops it hides the secret.
  const unseen = new Writable({ write: (_piece, _encoding, done) => done() });
  const output = isSecret ? unseen : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  if (isSecret) {
    // Only now readline has switched off the echo of the terminal.
    process.stderr.write(question);
    lines.once("close", () => process.stderr.write("\n"));
  }
  return await new Promise((resolve, reject) => {
    // Ctrl-C and Ctrl-D close it. On Deno the question of node:readline/promises never ends then.
    lines.once("close", () => reject(new CommandError("the question was not answered")));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });
}

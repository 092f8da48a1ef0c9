import { Buffer } from "node:buffer";
import process from "node:process";
import type { CommandIo } from "./command.ts";

/** What a command sees of the world when it runs for real: this process. */
export function processIo(): CommandIo {
  return {
    env: process.env,
    stdout: (text) => void process.stdout.write(text),
    stderr: (text) => void process.stderr.write(text),
    stdin: readStdin,
    isTerminal: process.stdout.isTTY === true,
    ...(process.stdin.isTTY && process.stderr.isTTY ? { ask } : {}),
    now: () => Date.now(),
  };
}

async function readStdin(): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of process.stdin) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function ask(question: string): Promise<string> {
  const { createInterface } = await import("node:readline/promises");
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return await lines.question(question);
  } finally {
    lines.close();
  }
}

import { Buffer } from "node:buffer";
import { fstatSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { OutputError } from "../command.ts";

const STDOUT = 1;
const STDERR = 2;
/** What a pipe that another program made non-blocking is waited for before it is tried again. */
const BUSY_MS = 5;

const REASONS: Record<string, string> = {
  EPIPE: "who read it has gone",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be too large",
  EIO: "it cannot be reached",
  EBADF: "it is closed",
};

/**
 * Writes to standard output. Not with `process.stdout`: on a pipe that may write later, and fail when nobody listens.
 * @throws {OutputError} when it cannot be written
 */
export function writeOutput(text: string): void {
  if (openedAs(STDOUT)?.isClosed) throw new OutputError("standard output is closed");
  writeAll(STDOUT, "standard output", text);
}

/**
 * Writes to standard error what must not be lost.
 * @throws {OutputError} when it cannot be written
 */
export function writeErrorOutput(text: string): void {
  if (openedAs(STDERR)?.isForBoth) throw new OutputError("standard error is closed");
  writeAll(STDERR, "standard error", text);
}

/**
 * Writes to standard error for as long as somebody takes it. Logs go there: a reader that has gone (`| head`), or a full
 * disk below the file, costs lines; it neither ends the process nor changes its exit code.
 */
export function openStandardError(): (text: string) => void {
  // Without a listener a failed write is an uncaught error.
  process.stderr.on("error", () => {});
  let write: (text: string) => unknown = (text) => process.stderr.write(text);
  return (text) => {
    try {
      write(text);
    } catch {
      // Deno throws where it is a file, and only keeps in memory what is written after that: from here on without it.
      write = (more) => writeSync(STDERR, more);
    }
  };
}

/** Whether standard output was closed from the start, or is what a program that ignores it gives. Told on Linux only. */
export function isOutputUnread(): boolean {
  return openedAs(STDOUT)?.isForBoth ?? false;
}

function writeAll(descriptor: number, name: string, text: string): void {
  const bytes = Buffer.from(text);
  for (let written = 0; written < bytes.length;) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code !== "EAGAIN") {
        throw new OutputError(`${name} cannot be written: ${REASONS[code ?? ""] ?? message}`, code === "EPIPE");
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BUSY_MS);
    }
  }
}

const NULL_DEVICE = 0x103;
const O_RDWR = 0o2;
const O_CLOEXEC = 0o2000000;

/**
 * How the null device at this descriptor was opened; undefined when something else is there. A shell's `>/dev/null` opens
 * it for writing. For writing and reading it is opened by a runtime that finds it closed, so that no file
 * gets its number (Bun's is not handed on to children: so no parent made it), and by programs that ignore what a child
 * writes.
 */
function openedAs(descriptor: number): { isForBoth: boolean; isClosed: boolean } | undefined {
  try {
    const stat = fstatSync(descriptor);
    if (!stat.isCharacterDevice() || stat.rdev !== NULL_DEVICE) return undefined;
    const flags = parseInt(/^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))![1]!, 8);
    return { isForBoth: (flags & 3) === O_RDWR, isClosed: (flags & O_CLOEXEC) !== 0 };
  } catch {
    return undefined;
  }
}

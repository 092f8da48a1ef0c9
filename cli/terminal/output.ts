import { Buffer } from "node:buffer";
import { fstatSync, readFileSync, writeSync } from "node:fs";
import process from "node:process";
import { OutputError } from "../command.ts";

const STDOUT = 1;
const STDERR = 2;
/** Pause before the next write to a full pipe that another program made non-blocking. */
const BUSY_MS = 5;

const REASONS: Record<string, string> = {
  EPIPE: "its reader is gone",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EFBIG: "the file would be too large",
  EIO: "it cannot be reached",
  EBADF: "it is closed",
};

/**
 * Writes to standard output at once. `process.stdout` may write to a pipe later, and then its failure would be lost.
 * @throws {OutputError} when it cannot be written
 */
export function writeOutput(text: string): void {
  if (openedAs(STDOUT)?.isClosed) throw new OutputError("standard output is closed");
  writeAll(STDOUT, "standard output", text);
}

/**
 * Writes text to standard error that must not be lost.
 * @throws {OutputError} when it cannot be written
 */
export function writeErrorOutput(text: string): void {
  if (openedAs(STDERR)?.isForBoth) throw new OutputError("standard error is closed");
  writeAll(STDERR, "standard error", text);
}

/**
 * Opens standard error for logs. When its reader is gone (`| head`) or the disk is full, lines are lost. The process goes on
 * with the same exit code.
 */
export function openStandardError(): (text: string) => void {
  // Without a listener a failed write is an uncaught error.
  process.stderr.on("error", () => {});
  let write: (text: string) => unknown = (text) => process.stderr.write(text);
  return (text) => {
    try {
      write(text);
    } catch {
      // On a file Deno throws once, and from then on only buffers. So later lines bypass `process.stderr`.
      write = (more) => writeSync(STDERR, more);
    }
  };
}

/** Whether standard output was closed at the start, or the parent program ignores it. Known on Linux only. */
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
 * How the null device at this descriptor was opened, undefined for anything else. A shell's `>/dev/null` opens it for
 * writing only.
 *
 * A program that ignores a child's output opens it for reading and writing. So does a runtime that finds the descriptor
 * closed, so that no file gets its number. Bun's descriptor has O_CLOEXEC, which a parent's cannot have.
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

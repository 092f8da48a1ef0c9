import { writeSync } from "node:fs";
import process from "node:process";

const STDERR = 2;

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

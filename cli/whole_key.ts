import { UsageError } from "./command.ts";

/**
 * Refuses arguments of which one is a whole API key, and does not quote it: what is typed by mistake must not end in a log.
 * @throws {UsageError}
 */
export function refuseWholeKey(...texts: (string | undefined)[]): void {
  if (!texts.some((text) => text?.startsWith("service_sk_"))) return;
  throw new UsageError("a whole key was given: give its id, the part between service_sk_ and the next _");
}

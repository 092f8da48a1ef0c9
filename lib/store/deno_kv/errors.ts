import { StoreError } from "../store.ts";

/** A fault of Deno KV in an operator's words. It comes as SQLite's text, or a network's: there is no code to go by. */
export function toStoreError(error: unknown, location: string): unknown {
  if (error instanceof StoreError || error instanceof RangeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/disk is full/.test(message)) {
    return new StoreError("full", `${location}: the disk is full: make room on it; this change was not written`, {
      cause: error,
    });
  }
  if (/disk I\/O error/.test(message)) {
    return new StoreError("full", `${location}: the disk cannot be read or written: check that it has room and works`, {
      cause: error,
    });
  }
  if (isLocked(error)) {
    return new StoreError(
      "locked",
      `${location} is locked by another process: wait until that has finished, or stop it`,
      {
        cause: error,
      },
    );
  }
  return new StoreError("unavailable", `${location} cannot be used: ${message}`, { cause: error });
}

/** Another process was writing to the file, and nothing came of this write. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /database is locked/.test(error.message);
}

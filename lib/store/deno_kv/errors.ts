import { diskFailed, diskFull, lockedByAnother } from "../file/errors.ts";
import { StoreError } from "../store_error.ts";

/** A fault of Deno KV in an operator's words. It comes as SQLite's text, or a network's: there is no code to go by. */
export function toStoreError(error: unknown, location: string): unknown {
  if (error instanceof StoreError || error instanceof RangeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/disk is full/.test(message)) return diskFull(location, error);
  if (/disk I\/O error/.test(message)) return diskFailed(location, error);
  if (isLocked(error)) return lockedByAnother(location, error);
  return new StoreError("unavailable", `${location} cannot be used: ${message}`, { cause: error });
}

/** Another process was writing to the file, and nothing came of this write. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /database is locked/.test(error.message);
}

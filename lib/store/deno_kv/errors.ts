import { diskFailed, diskFull, lockedByAnother } from "../file/errors.ts";
import { StoreError } from "../store_error.ts";

/** Turns an error of Deno KV into a message for the operator. It has no code, only a text of SQLite or of a network. */
export function toStoreError(error: unknown, location: string): unknown {
  if (error instanceof StoreError || error instanceof RangeError) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (/disk is full/.test(message)) return diskFull(location, error);
  if (/disk I\/O error/.test(message)) return diskFailed(location, error);
  if (isLocked(error)) return lockedByAnother(location, error);
  return new StoreError("unavailable", `${location} cannot be used: ${message}`, { cause: error });
}

/** Another process was writing to the file, and this write did not happen. */
export function isLocked(error: unknown): boolean {
  return error instanceof Error && /database is locked/.test(error.message);
}

import { StoreError } from "../store_error.ts";

/** The error for a full disk. */
export function diskFull(location: string, cause: unknown): StoreError {
  const message = `${location}: the disk is full, and this change was not written. Make room on the disk`;
  return new StoreError("full", message, { cause });
}

export function diskFailed(location: string, cause: unknown): StoreError {
  const message = `${location}: the disk cannot be read or written. Check that it has room and works`;
  return new StoreError("full", message, { cause });
}

export function lockedByAnother(location: string, cause: unknown): StoreError {
  const message = `${location} is locked by another process: wait until that has finished, or stop it`;
  return new StoreError("locked", message, { cause });
}

import { StoreError } from "../store_error.ts";

/** A full disk, in an operator's words. */
export function diskFull(location: string, cause: unknown): StoreError {
  const message = `${location}: the disk is full: make room on it; this change was not written`;
  return new StoreError("full", message, { cause });
}

export function diskFailed(location: string, cause: unknown): StoreError {
  const message = `${location}: the disk cannot be read or written: check that it has room and works`;
  return new StoreError("full", message, { cause });
}

export function lockedByAnother(location: string, cause: unknown): StoreError {
  const message = `${location} is locked by another process: wait until that has finished, or stop it`;
  return new StoreError("locked", message, { cause });
}

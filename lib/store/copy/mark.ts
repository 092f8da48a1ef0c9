import { StoreError } from "../store_error.ts";

/** The shared value that marks an unfinished copy. The copy does not copy it. */
export const COPY_REGISTER = "copy";

export interface CopyMark {
  /** The source of the copy. */
  from: { id: string; location: string };
}

/** The error for an unfinished copy. It would serve old cursors, and lack keys. */
export function halfCopy(location: string, { from }: CopyMark): StoreError {
  return new StoreError(
    "unavailable",
    `${location} is a copy of ${from.location} that is not whole: it was interrupted or is under way. Remedy: ${
      again(location)
    }`,
  );
}

/** The remedy for an unfinished copy. */
export function again(location: string): string {
  return `stop all that uses the two stores, remove ${location} (the file with its -wal and -shm, or the schema in ` +
    "PostgreSQL), and copy again";
}

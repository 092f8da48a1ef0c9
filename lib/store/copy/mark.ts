import { StoreError } from "../store_error.ts";

/** The register of a store that is being filled: there until all of it is there, and alike. It is not copied itself. */
export const COPY_REGISTER = "copy";

export interface CopyMark {
  /** The store that is copied. */
  from: { id: string; location: string };
}

/** The refusal of a copy that is not whole: it would serve old cursors, and miss keys. */
export function halfCopy(location: string, { from }: CopyMark): StoreError {
  return new StoreError(
    "unavailable",
    `${location} is a copy of ${from.location} that is not whole, because it was cut off or is under way: ${
      again(location)
    }`,
  );
}

/** What is to be done about a copy that did not come to its end. */
export function again(location: string): string {
  return `stop all that uses the two stores, remove ${location} (the file with its -wal and -shm, or the schema in ` +
    "PostgreSQL), and copy again";
}

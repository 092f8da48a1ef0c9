import { StoreError } from "./store_error.ts";

/** The refusal of a store that a newer program has written. */
export function newerSchema(location: string, version: number, newest: number): StoreError {
  return new StoreError(
    "newer_schema",
    `${location} was written by a newer version of this program (schema ${version}, this one knows up to ${newest}): ` +
      "run that version, or restore a backup made before",
  );
}

/** What an operator is told when a start has changed a store's schema. */
export function schemaChanged(location: string, from: number, to: number): string {
  return `${location} went from schema ${from} to ${to}: no program of before starts on it from now on`;
}

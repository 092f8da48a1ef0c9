export type StoreErrorKind =
  /** Its URL is wrong, and stays so until it is changed. */
  | "setting"
  | "locked"
  | "full"
  | "network_mismatch"
  | "newer_schema"
  | "exists"
  | "missing"
  | "fenced"
  | "unavailable";

/** `message` is fit for an operator: it names the store and says what to do; no credentials in it. */
export class StoreError extends Error {
  constructor(readonly kind: StoreErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
  }
}

/** Whether a call was refused because another has the lease, or the claim, by now. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "fenced";
}

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

/** The refusal of a store that belongs to another network: it names both and says what to do. */
export function networkMismatch(location: string, bound: string, asked: string): StoreError {
  // The platform's database is not named by a setting.
  const another = location === "deno-kv:"
    ? "give the app another database (on this machine: another --location)"
    : "name another store";
  return new StoreError(
    "network_mismatch",
    `${location} belongs to the network "${bound}", not to "${asked}": ${another}, or correct the network passphrase`,
  );
}

export type StoreErrorKind =
  /** The URL is wrong. Only the operator can correct it. */
  | "setting"
  | "locked"
  | "full"
  | "network_mismatch"
  | "newer_schema"
  | "exists"
  | "missing"
  | "fenced"
  | "unavailable";

/** `message` is for the operator. It names the store and the remedy, without credentials. */
export class StoreError extends Error {
  constructor(readonly kind: StoreErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = "StoreError";
  }
}

/** Whether a call failed because another holder has the lease, or another caller the claim. */
export function isFenced(error: unknown): boolean {
  return error instanceof StoreError && error.kind === "fenced";
}

/** The error for a store that a newer program has written. */
export function newerSchema(location: string, version: number, newest: number): StoreError {
  return new StoreError(
    "newer_schema",
    `${location} was written by a newer version of this program (schema ${version}, this one knows up to ${newest}): ` +
      "run that version, or restore a backup made before",
  );
}

/** The notice to the operator after a start has changed a store's schema. */
export function schemaChanged(location: string, from: number, to: number): string {
  return `${location} now has schema ${to}, and had ${from}: older versions of this program no longer start on it`;
}

/** The error for a store of another network. It names both networks and the remedy. */
export function networkMismatch(location: string, bound: string, asked: string): StoreError {
  // No setting names the platform's database.
  const another = location === "deno-kv:"
    ? "give the app another database (on this machine: another --location)"
    : "name another store";
  return new StoreError(
    "network_mismatch",
    `${location} belongs to the network "${bound}", not to "${asked}": ${another}, or correct the network passphrase`,
  );
}

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

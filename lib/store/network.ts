import { StoreError } from "./store.ts";

/** The refusal of a store that belongs to another network: it names both and says what to do. */
export function networkMismatch(location: string, bound: string, asked: string): StoreError {
  return new StoreError(
    "network_mismatch",
    `${location} belongs to the network "${bound}", not to "${asked}": name another store, or correct the network passphrase`,
  );
}

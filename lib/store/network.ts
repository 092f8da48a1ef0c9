import { StoreError } from "./store_error.ts";

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

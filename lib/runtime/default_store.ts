import { runtimeName } from "./runtime.ts";

/** The store that stands when nothing is said: in the working directory, of the runtime's own kind. */
export function defaultStoreSetting(): string {
  return runtimeName === "deno" ? "deno-kv:gateway.kv" : "sqlite:gateway.db";
}

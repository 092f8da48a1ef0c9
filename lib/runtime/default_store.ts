import { runtimeName } from "./runtime.ts";

/** The default store, in the working directory and of the runtime's own kind. */
export function defaultStoreSetting(): string {
  return runtimeName === "deno" ? "deno-kv:gateway.kv" : "sqlite:gateway.db";
}

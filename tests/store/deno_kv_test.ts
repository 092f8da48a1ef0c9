import { runtimeName } from "../../lib/runtime/runtime.ts";
import { describeStore } from "./store_contract.ts";

if (runtimeName === "deno") {
  describeStore("deno-kv", true, (directory) => `deno-kv:${directory}/gateway.kv`);
}

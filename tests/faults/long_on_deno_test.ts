// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * What `npm test` does once, on Bun, for the sake of its time. The long form does it on Deno as well.
 */
const FILES = [
  "./fleet_test.ts",
  "./intents_test.ts",
  "./machine_test.ts",
  "./pinning_test.ts",
  "./power_loss_test.ts",
  "./sandbox_kill_test.ts",
  "./slow_endpoints_test.ts",
];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("what Deno runs here Bun runs by itself", { skip: true });

// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * What `npm test` does once, on Bun, for the sake of its time. The long form does it on Deno as well.
 */
const FILES = ["./nodes_over_http_test.ts", "../stellar/rpc/failover_test.ts"];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("Bun runs alone what Deno runs here", { skip: true });

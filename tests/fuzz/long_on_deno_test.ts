// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * What `npm test` does once, on Bun, for the sake of its time. The long form does it on Deno as well.
 */
const FILES = ["./receivers_test.ts", "./strangers_test.ts"];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("what Deno runs here Bun runs by itself", { skip: true });

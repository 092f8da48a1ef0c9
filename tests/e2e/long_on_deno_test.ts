// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * What `npm test` does once, on Bun, for the sake of its time. The long form does it on Deno as well.
 */
const FILES = [
  "./listen_forward_test.ts",
  "./listen_test.ts",
  "./operating_test.ts",
  "./postgres_test.ts",
  "./tail_test.ts",
];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("what Deno runs here Bun runs by itself", { skip: true });

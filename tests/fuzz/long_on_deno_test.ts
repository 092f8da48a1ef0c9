// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * `npm test` runs these tests on Bun only, to save time. The long form runs them on Deno as well.
 */
const FILES = ["./receivers_test.ts", "./strangers_test.ts"];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("this file runs on Deno only, because Bun runs these tests from their own files", { skip: true });

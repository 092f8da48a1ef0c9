// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * What `npm test` does once, on Bun, for the sake of its time. The long form does it on Deno as well.
 */
const FILES = [
  "./backup_test.ts",
  "./doctor/damaged_store_test.ts",
  "./doctor/doctor_test.ts",
  "./doctor/reach_test.ts",
  "./doctor/store_test.ts",
  "./keygen_test.ts",
  "./keys_file_delete_test.ts",
  "./keys_test.ts",
  "./listen_busy_test.ts",
  "./sandbox/asset_test.ts",
  "./sandbox/flags_test.ts",
  "./sandbox/fork_test.ts",
  "./sandbox/full_disk_test.ts",
  "./sandbox/page_test.ts",
  "./sandbox/sandbox_test.ts",
  "./sandbox/tools_test.ts",
];

if (runtimeName === "deno") { for (const file of FILES) await import(file); }
else test("Bun runs these files by themselves", { skip: true });

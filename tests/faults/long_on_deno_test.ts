// needs: long, runtime
import { test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";

/*
 * Tests that `npm test` runs on Bun only, to save time. The long form also runs them on Deno.
 */
const FILES = ["fleet", "intents", "machine", "pinning", "power_loss", "sandbox_kill", "slow_endpoints"];

if (runtimeName === "deno") { for (const file of FILES) await import(`./${file}_test.ts`); }
else test("Bun runs these files on their own; only Deno runs them here", { skip: true });

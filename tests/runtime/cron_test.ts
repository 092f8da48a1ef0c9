// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { cron } from "../../lib/runtime/cron.ts";

test("where the runtime has no crons, or they are switched off, the message says how to switch them on", () => {
  const { Deno } = globalThis as { Deno?: object };
  const there = Deno && Object.getOwnPropertyDescriptor(Deno, "cron");
  if (Deno) Object.defineProperty(Deno, "cron", { value: undefined, configurable: true });
  try {
    assert.throws(() => cron("never", "* * * * *", () => Promise.resolve()), /run with --unstable-cron/);
  } finally {
    if (Deno && there) Object.defineProperty(Deno, "cron", there);
  }
});

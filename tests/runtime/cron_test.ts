// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { cron } from "../../lib/runtime/cron.ts";

test("without crons, or with crons switched off, the message explains how to switch them on", () => {
  const { Deno } = globalThis as { Deno?: object };
  const there = Deno && Object.getOwnPropertyDescriptor(Deno, "cron");
  if (Deno) Object.defineProperty(Deno, "cron", { value: undefined, configurable: true });
  try {
    assert.throws(() => cron("never", "* * * * *", () => Promise.resolve()), /run with --unstable-cron/);
  } finally {
    if (Deno && there) Object.defineProperty(Deno, "cron", there);
  }
});

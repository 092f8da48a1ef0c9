// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { UsageError } from "../../cli/command.ts";
import { command as keys } from "../../cli/keys.ts";
import { command as webhooks } from "../../cli/webhooks.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { fakeIo } from "./fake_io.ts";

const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

test("no command quotes a whole API key in place of its id", async () => {
  const { key } = mintKey({ name: "a", scopes: ["read"], now: Date.now(), random });
  const calls = [
    [keys, [key]],
    [keys, ["disable", key]],
    [keys, ["list", key]],
    [keys, ["show", "a", key]],
    [webhooks, [key]],
    [webhooks, ["list", "--key", key]],
    [webhooks, ["list", key]],
    [webhooks, ["deliveries", key]],
    [webhooks, ["deliveries", "wh_1", key]],
  ] as const;
  for (const [command, args] of calls) {
    const error = await command.run([...args, "--store", "sqlite:none.db"], fakeIo()).catch((error) => error);
    assert.ok(error instanceof UsageError, args[0]);
    assert.ok(!error.message.includes(key) && error.message.includes("pass its id"), error.message);
  }
});

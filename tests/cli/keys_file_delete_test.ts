// needs: once
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { command } from "../../cli/keys.ts";
import { openKeysFile } from "../../lib/keys/keys_file.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { fakeIo } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { sampleKey } from "../store/samples.ts";
import { insert, subscriptionOf } from "../webhooks/parts.ts";

/** A key in a file, and a store beside it. */
async function stage() {
  const folder = await mkdtemp(join(tmpdir(), "keys-delete-"));
  const [file, path] = [join(folder, "keys.json"), join(folder, "gateway.db")];
  const store = await openStore(`sqlite:${path}`);
  await openKeysFile(file).keys.insert(sampleKey("key1"));
  const io = () => fakeIo({ env: { SERVICE_API_STORE: `sqlite:${path}` } });
  const close = async () => {
    await store.close();
    await rm(folder, { recursive: true });
  };
  return { file, path, store, io, close };
}

test("keys delete that was interrupted between webhooks and keys file completes when repeated", async () => {
  const { file, path, store, io: newIo, close } = await stage();
  await insert(store, subscriptionOf("wh_1"));
  const remove = async () => {
    const io = newIo();
    return [await runCommand(command, ["delete", "key1", "--yes", "--keys-file", file], io), io.err];
  };
  // Like a kill between the two: nothing can be written to the store.
  const writer = await openSqlite(path);
  writer.exec("BEGIN IMMEDIATE");
  const first = await remove();
  writer.exec("ROLLBACK");
  writer.close();
  const second = await remove();
  assert.equal(first[0], 1, String(first));
  assert.deepEqual(await store.subscriptions.list({ limit: 10 }), [], `${first}\n${second}`);
  assert.equal(await openKeysFile(file).keys.get("key1"), undefined);
  await close();
});

test("keys delete also deletes webhooks created while it asks", async () => {
  const { file, store, io: newIo, close } = await stage();
  const io = newIo();
  io.ask = async () => {
    // Somebody thinks it over, and the application goes on meanwhile.
    await insert(store, subscriptionOf("wh_meanwhile"));
    return "y";
  };
  assert.equal(await runCommand(command, ["delete", "key1", "--keys-file", file], io), 0, io.err);
  assert.deepEqual(await store.subscriptions.list({ limit: 10 }), [], io.out);
  assert.equal(await openKeysFile(file).keys.get("key1"), undefined);
  await close();
});

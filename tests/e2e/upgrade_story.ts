import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { mintKey } from "../../lib/keys/api_key.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { startServe } from "../faults/serve_process.ts";
import { makeFormerFile } from "../store/former_store.ts";
import { createClient } from "./client.ts";
import { asArguments, flagsFor, runGateway, type SandboxInfo } from "./sandbox_process.ts";

/**
 * An operator starts this program on the store of the first release, finds the old store kept beside it, goes back to it,
 * and tries the same with a store that a newer program has written. The same story is told to the sources on both
 * runtimes and to the compiled executable.
 *
 * @param folder where a folder of stores is made
 */
export async function tellUpgrade(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const stores = mkdtempSync(join(folder, "upgrade-"));
  const path = join(stores, "gateway.db");
  const key = await writeFirstReleasesStore(path, info.networkPassphrase);
  const run = (...args: string[]) => runGateway(args, {}, command);
  const flags = (file: string) => flagsFor(info, { store: `sqlite:${file}` });

  const before = await run("doctor", ...asArguments(flags(path)));
  assert.equal(before.code, 0, before.stdout);
  assert.match(before.stdout, /^warn {2}store .* has schema 1, .*\n +→ nothing, .* keeps a copy/m);
  assert.equal(await schemaOf(path), 1, "the doctor left it as it was");

  await serves(command, flags(path), key, /goes from schema 1 to \d+; as it was, it is kept in /);
  const [copy, ...more] = copiesIn(stores);
  assert.deepEqual(more, []);
  assert.match(copy!, /^gateway\.db\.v1-\d{8}T\d{6}Z\.bak$/);
  assert.equal(statSync(join(stores, copy!)).mode & 0o777, 0o600);
  assert.equal(await schemaOf(join(stores, copy!)), 1);
  assert.ok(await schemaOf(path) > 1);

  await serves(command, flags(path), key);
  assert.deepEqual(copiesIn(stores), [copy], "a second start has nothing to change");
  await serves(command, flags(join(stores, copy!)), key, /goes from schema 1 to/);

  await tellNewerSchema(info, command, path);
}

/** Nothing is done with a store that a newer program has written, whatever the command; only `backup` would copy it as it is. */
async function tellNewerSchema(info: SandboxInfo, command: string[], path: string): Promise<void> {
  const database = await openSqlite(path);
  database.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const bytes = readFileSync(path);
  const store = `sqlite:${path}`;
  const says = new RegExp(`${store} was written by a newer version of this program \\(schema 99, .*: run that version`);
  const serve = ["serve", ...asArguments(flagsFor(info, { store }))];
  for (
    const args of [
      serve,
      ["keygen", "--name", "late", "--scopes", "read", "--store", store],
      ["keys", "list", "--store", store],
    ]
  ) {
    const refused = await runGateway(args, {}, command);
    assert.deepEqual([args[0], refused.code, refused.stdout], [args[0], 2, ""]);
    assert.match(refused.stderr, says);
    assert.equal(refused.stderr.trimEnd().split("\n").length, 1, refused.stderr);
  }
  const { code, stdout } = await runGateway(["doctor", ...serve.slice(1)], {}, command);
  assert.equal(code, 1);
  assert.match(stdout, /^fail {2}store .* newer version .*\n +→ run the newer version, or start on a backup/m);
  assert.deepEqual(readFileSync(path), bytes, "not a byte of it has changed");
}

/** Starts a gateway, asks it with a key of the old store, and stops it. */
async function serves(
  command: string[],
  flags: Record<string, string>,
  key: string,
  notice?: RegExp,
): Promise<void> {
  const gateway = await startServe(flags, { command });
  const api = createClient(gateway.url, key);
  assert.equal((await api.get("/v1/network")).status, 200);
  const webhooks = await api.get("/v1/webhooks");
  assert.deepEqual([webhooks.status, webhooks.body], [200, { webhooks: [] }], "what the first release did not have");
  gateway.signal("SIGTERM");
  assert.equal(await gateway.ended, 0, gateway.log());
  const notices = gateway.lines().filter(({ message }) => /schema/.test(String(message)));
  assert.equal(notices.length, notice === undefined ? 0 : 1, gateway.log());
  if (notice !== undefined) assert.match(String(notices[0]!.message), notice);
}

const copiesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".bak"));

/** A store as the first release left it, with one key; answers the key. */
async function writeFirstReleasesStore(path: string, networkPassphrase: string): Promise<string> {
  const { key, record } = mintKey({
    name: "old",
    scopes: ["read", "webhooks"],
    rate: 600,
    now: Date.now(),
    random: (length) => crypto.getRandomValues(new Uint8Array(length)),
  });
  await makeFormerFile(path, 1);
  const database = await openSqlite(path);
  database.exec("DELETE FROM network");
  database.prepare("INSERT INTO network VALUES (?)").run(networkPassphrase);
  database.prepare("INSERT INTO api_key VALUES (?, ?, ?, ?, ?, 0, ?, NULL, NULL)")
    .run(record.id, record.name, record.hash, record.scopes.join(), 600, record.createdAt);
  database.close();
  return key;
}

async function schemaOf(path: string): Promise<number> {
  const database = await openSqlite(path, { readOnly: true });
  const version = Number(database.prepare("PRAGMA user_version").get()?.user_version);
  database.close();
  return version;
}

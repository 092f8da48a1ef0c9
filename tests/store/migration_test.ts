import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { migrateWithCopy } from "../../lib/store/file/migration_copy.ts";
import { openStore } from "../../lib/store/open.ts";
import { APPLICATION_ID, migrate, MIGRATIONS, schemaVersion } from "../../lib/store/sqlite/schema.ts";
import { sampleKey, storeError } from "./samples.ts";

const directory = mkdtempSync(join(tmpdir(), "migration-"));
const newFolder = () => mkdtempSync(join(directory, "store-"));
const copiesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".bak"));

/** A file as the first version of the program left it, with one key. */
async function oldFile(folder: string): Promise<string> {
  const path = join(folder, "gateway.db");
  const database = await openSqlite(path);
  database.exec(`${MIGRATIONS[0]}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`);
  database.exec(`INSERT INTO api_key VALUES ('a', 'key a', '${"ab".repeat(32)}', 'read', NULL, 0,
    '2026-11-01T00:00:00.000Z', NULL, NULL)`);
  database.close();
  return path;
}

async function versionOf(path: string): Promise<number> {
  const database = await openSqlite(path, { readOnly: true });
  try {
    return schemaVersion(database);
  } finally {
    database.close();
  }
}

describe("a store of an older schema", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("is migrated with what is in it, a copy kept beside it that says what and when it was", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const notices: string[] = [];
    const store = await openStore(`sqlite:${path}`, { onNotice: (notice) => notices.push(notice) });
    assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
    await store.close();
    assert.equal(await versionOf(path), MIGRATIONS.length);

    const [copy, ...more] = copiesIn(folder);
    assert.deepEqual(more, []);
    assert.match(copy!, /^gateway\.db\.v1-\d{8}T\d{6}Z\.bak$/);
    assert.equal(statSync(join(folder, copy!)).mode & 0o777, 0o600);
    assert.equal(await versionOf(join(folder, copy!)), 1);
    const kept = await openSqlite(join(folder, copy!), { readOnly: true });
    assert.equal(kept.prepare("SELECT name FROM api_key").get()?.name, "key a");
    kept.close();
    assert.equal(notices.length, 1);
    assert.ok(notices[0]!.includes(`schema 1 to ${MIGRATIONS.length}`) && notices[0]!.includes(copy!), notices[0]!);
  });

  test("is copied once: neither a new store nor one of the newest schema is", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    for (const name of [path, path, join(folder, "new.db")]) await (await openStore(`sqlite:${name}`)).close();
    assert.equal(copiesIn(folder).length, 1);
  });

  test("opened by several at once is migrated, and a copy of the old schema is there", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const stores = await Promise.all([1, 2, 3].map(() => openStore(`sqlite:${path}`)));
    for (const store of stores) {
      assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
      await store.close();
    }
    const copies = copiesIn(folder);
    assert.ok(copies.length >= 1);
    for (const copy of copies) assert.equal(await versionOf(join(folder, copy)), 1);
    assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith(".part")), []);
  });

  test("stays as it is when no copy can be kept", async () => {
    const path = await oldFile(newFolder());
    const database = await openSqlite(path);
    const nowhere = join(directory, "no such folder", "gateway.db");
    await assert.rejects(
      migrateWithCopy(
        { database, file: nowhere, location: "sqlite:there", from: 1, to: 2 },
        () => assert.fail("the schema was changed"),
      ),
      storeError("full", "sqlite:there", "schema is not changed"),
    );
    database.close();
  });

  test("that cannot be changed stays as it was, without a copy and without a word", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const database = await openSqlite(path);
    const pages = database.prepare("PRAGMA page_count").get()!.page_count;
    // Room for a part of the changes.
    database.exec(`PRAGMA max_page_count = ${Number(pages) + 5}`);
    const parts = { database, file: path, location: "sqlite:there", from: 1, to: MIGRATIONS.length };
    const onNotice = (notice: string) => assert.fail(notice);
    const changing = migrateWithCopy({ ...parts, versionOf: schemaVersion, onNotice }, () => migrate(database));
    await assert.rejects(changing, /full/);
    assert.equal(schemaVersion(database), 1);
    assert.equal(database.prepare("SELECT name FROM api_key").get()?.name, "key a");
    database.close();
    assert.deepEqual(readdirSync(folder), ["gateway.db"]);
  });

  test("without anything in it is not copied: there is nothing to go back to", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const database = await openSqlite(path);
    database.exec("DELETE FROM api_key");
    database.close();
    const onNotice = (notice: string) => assert.fail(notice);
    await (await openStore(`sqlite:${path}`, { onNotice })).close();
    assert.equal(await versionOf(path), MIGRATIONS.length);
    assert.deepEqual(copiesIn(folder), []);
  });

  if (runtimeName === "deno") {
    test("in Deno KV is copied too", async () => {
      const folder = newFolder();
      const path = join(folder, "gateway.kv");
      const setting = `deno-kv:${path}`;
      const first = await openStore(setting);
      await first.keys.insert(sampleKey("a"));
      await first.close();
      assert.deepEqual(copiesIn(folder), []);
      const kv = await openKv(path);
      await kv.set(["schema"], 1);
      kv.close();

      const notices: string[] = [];
      const store = await openStore(setting, { onNotice: (notice) => notices.push(notice) });
      assert.deepEqual(await store.keys.get("a"), sampleKey("a"));
      await store.close();
      const [copy] = copiesIn(folder);
      assert.match(copy!, /^gateway\.kv\.v1-/);
      assert.match(notices.join("\n"), /schema 1 to \d+;/);
      const kept = await openKv(join(folder, copy!));
      assert.equal((await kept.get(["schema"])).value, 1);
      kept.close();
    });

    test("in Deno KV without anything in it is not copied", async () => {
      const folder = newFolder();
      const path = join(folder, "gateway.kv");
      await (await openStore(`deno-kv:${path}`)).close();
      const kv = await openKv(path);
      await kv.set(["schema"], 1);
      await (await openStore(`deno-kv:${path}`)).close();
      assert.equal((await kv.get(["schema"])).value, 2);
      kv.close();
      assert.deepEqual(copiesIn(folder), []);
    });
  }
});

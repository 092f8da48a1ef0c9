// needs: long, runtime
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { sleep } from "../../lib/clock.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { migrateWithCopy } from "../../lib/store/file/migration_copy.ts";
import { holdStoreFile } from "../../lib/store/file/store_file.ts";
import { openStore } from "../../lib/store/open.ts";
import { migrate, SCHEMA_VERSION, schemaVersion } from "../../lib/store/sqlite/schema.ts";
import { makeFormerFile } from "./former_store.ts";
import { sampleKey, storeError } from "./samples.ts";
import { startStoreProcess } from "./store_process.ts";

const directory = mkdtempSync(join(tmpdir(), "migration-"));
const newFolder = () => mkdtempSync(join(directory, "store-"));
const copiesIn = (folder: string) => readdirSync(folder).filter((name) => name.endsWith(".bak"));
/** The lock of the gateway that serves lies beside every store that was held. */
const filesIn = (folder: string) => readdirSync(folder).filter((name) => !name.endsWith("-lock"));

async function oldFile(folder: string): Promise<string> {
  const path = join(folder, "gateway.db");
  await makeFormerFile(path, 1);
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

const TWENTY_THOUSAND_EVENTS = `
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000)
  INSERT INTO event SELECT printf('0001/%019d-%010d', 25 << 32, i), printf('1-%019d-%010d', 25 << 32, i), 't', 'c', 25,
    '2026-03-02T00:00:00Z', 'h', NULL, NULL, NULL, NULL FROM n`;

const nameOfKey = async (path: string) => {
  const database = await openSqlite(path, { readOnly: true });
  try {
    return database.prepare("SELECT name FROM api_key WHERE id = 'b'").get()?.name;
  } finally {
    database.close();
  }
};

describe("a store of an older schema", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("is migrated with what is in it, a copy kept beside it that says what and when it was", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const notices: string[] = [];
    const store = await openStore(`sqlite:${path}`, { onNotice: (notice) => notices.push(notice) });
    assert.equal((await store.keys.get("b"))?.name, "b");
    await store.holdForServing();
    await store.close();
    assert.equal(await versionOf(path), SCHEMA_VERSION);

    const [copy, ...more] = copiesIn(folder);
    assert.deepEqual(more, []);
    assert.match(copy!, /^gateway\.db\.v1-\d{8}T\d{6}Z\.bak$/);
    assert.equal(statSync(join(folder, copy!)).mode & 0o777, 0o600);
    assert.equal(await versionOf(join(folder, copy!)), 1);
    assert.equal(await nameOfKey(join(folder, copy!)), "b");
    assert.equal(notices.length, 1);
    assert.ok(notices[0]!.includes(`schema 1 to ${SCHEMA_VERSION}`) && notices[0]!.includes(copy!), notices[0]!);
  });

  test("is copied once: neither a new store nor one of the newest schema is", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    for (const name of [path, path, join(folder, "new.db")]) await (await openStore(`sqlite:${name}`)).close();
    assert.equal(copiesIn(folder).length, 1);
  });

  test("opened by several at once is migrated by one of them, with one copy", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const stores = await Promise.all([1, 2, 3].map(() => openStore(`sqlite:${path}`)));
    for (const store of stores) {
      assert.equal((await store.keys.get("b"))?.name, "b");
      assert.equal(store.id, stores[0]!.id);
    }
    for (const store of stores) await store.close();
    const [copy, ...more] = copiesIn(folder);
    assert.equal(await versionOf(join(folder, copy!)), 1);
    assert.deepEqual(more, []);
  });

  test("is not changed under a gateway that serves from it", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const serving = await holdStoreFile(path, "sqlite:there");
    let waitedMs = 0;
    const database = await openSqlite(path);
    const parts = { database, file: path, location: "sqlite:there", from: 1, to: 2 };
    const wait = (ms: number) => Promise.resolve(void (waitedMs += ms));
    const changing = migrateWithCopy({ ...parts, wait }, () => assert.fail("the schema was changed"));
    await assert.rejects(changing, storeError("locked", "sqlite:there", "has schema 1, and is served", "has schema 2"));
    assert.equal(waitedMs, 5_000);
    assert.deepEqual(copiesIn(folder), []);
    serving.release();
    database.close();
    await (await openStore(`sqlite:${path}`)).close();
  });

  test("loses what migrations that were killed left of their copies, and nothing else", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const leftovers = [
      "v1-20260301T120000Z.bak.0123456789ab.part",
      "v1-20260301T120000Z.bak.0123456789ab.part-journal",
    ];
    const kept = ["v1-20260301T120000Z.bak", "part", "0123456789ab.part.txt", "v1.bak.0123456789ab.part"];
    for (const name of [...leftovers, ...kept]) writeFileSync(`${path}.${name}`, "half");
    writeFileSync(join(folder, "other.db.v1-20260301T120000Z.bak.0123456789ab.part"), "another store's");
    await (await openStore(`sqlite:${path}`)).close();
    const copies = copiesIn(folder).filter((name) => !name.includes("20260301T120000Z"));
    assert.equal(copies.length, 1);
    const names = ["other.db.v1-20260301T120000Z.bak.0123456789ab.part", ...kept.map((name) => `gateway.db.${name}`)];
    assert.deepEqual(filesIn(folder).toSorted(), ["gateway.db", ...copies, ...names].toSorted());
  });

  for (const laterMs of [0, 100, 300, 600]) {
    test(`whose migration is killed ${laterMs} ms after it began is whole, and is migrated at the next start`, async () => {
      const folder = newFolder();
      const path = join(folder, "gateway.db");
      await makeFormerFile(path, 3, TWENTY_THOUSAND_EVENTS);
      const migrating = startStoreProcess(`sqlite:${path}`, "open");
      const begun = async () => {
        while (!readdirSync(folder).some((name) => name.endsWith(".part"))) await sleep(1);
        await sleep(laterMs);
      };
      await Promise.race([begun(), migrating.said("done")]);
      await migrating.kill();

      const store = await openStore(`sqlite:${path}`);
      assert.deepEqual(await store.events.bounds(), { last: 20_016, forgotten: 1 });
      assert.equal((await store.deliveries.readers({ limit: 9 })).length, 3);
      await store.close();
      // A second one only where it was killed while it committed.
      const copies = copiesIn(folder);
      assert.ok(copies.length === 1 || copies.length === 2, copies.join());
      for (const copy of copies) assert.equal(await versionOf(join(folder, copy)), 3);
      assert.deepEqual(readdirSync(folder).filter((name) => name.includes(".part")), []);
    });
  }

  test("that was left half made is made anew, and what was left goes once nobody can be at it any more", async () => {
    const folder = newFolder();
    const path = join(folder, "gateway.db");
    for (const name of ["aaaaaaaaaaaa.new", "aaaaaaaaaaaa.new-journal", "bbbbbbbbbbbb.new"]) {
      writeFileSync(`${path}.${name}`, "half");
      if (name.startsWith("a")) utimesSync(`${path}.${name}`, 1_000, 1_000);
    }
    await (await openStore(`sqlite:${path}`)).close();
    assert.deepEqual(filesIn(folder), ["gateway.db", "gateway.db.bbbbbbbbbbbb.new"]);
  });

  test("stays as it is when no copy can be kept", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    // A name that the file system takes, and that with what a copy adds to it does not.
    const long = join(folder, "l".repeat(230));
    renameSync(path, long);
    const database = await openSqlite(long);
    const parts = { database, file: long, location: "sqlite:there", from: 1, to: 2 };
    const changing = migrateWithCopy(parts, () => assert.fail("the schema was changed"));
    await assert.rejects(changing, storeError("full", "sqlite:there", "schema is not changed"));
    database.close();
    assert.deepEqual(copiesIn(folder), []);
  });

  test("is copied to another name where that of this second is taken", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const database = await openSqlite(path);
    const now = () => Date.parse("2026-03-01T12:00:00Z");
    writeFileSync(`${path}.v1-20260301T120000Z.bak`, "a copy that is there already");
    await migrateWithCopy({ database, file: path, location: "sqlite:there", from: 1, to: 2, now }, () => {});
    database.close();
    assert.deepEqual(copiesIn(folder).toSorted(), [
      "gateway.db.v1-20260301T120000Z.bak",
      "gateway.db.v1-20260301T120001Z.bak",
    ]);
  });

  test("that cannot be changed stays as it was, without a copy and without a word", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const database = await openSqlite(path);
    const pages = database.prepare("PRAGMA page_count").get()!.page_count;
    // Room for a part of the changes.
    database.exec(`PRAGMA max_page_count = ${Number(pages) + 5}`);
    const parts = { database, file: path, location: "sqlite:there", from: 1, to: SCHEMA_VERSION };
    const onNotice = (notice: string) => assert.fail(notice);
    const changing = migrateWithCopy({ ...parts, versionOf: schemaVersion, onNotice }, () => migrate(database));
    await assert.rejects(changing, /full/);
    assert.equal(schemaVersion(database), 1);
    database.close();
    assert.deepEqual(filesIn(folder), ["gateway.db"]);
    assert.equal(await nameOfKey(path), "b");
  });

  test("without anything in it is not copied: there is nothing to go back to", async () => {
    const folder = newFolder();
    const path = await oldFile(folder);
    const database = await openSqlite(path);
    for (const table of ["network", "api_key", "bucket", "event", "undecoded_event", "watcher", "gap", "submission"]) {
      database.exec(`DELETE FROM ${table}`);
    }
    database.close();
    const onNotice = (notice: string) => assert.fail(notice);
    const store = await openStore(`sqlite:${path}`, { onNotice });
    await store.keys.insert(sampleKey("a"));
    await store.close();
    assert.equal(await versionOf(path), SCHEMA_VERSION);
    assert.deepEqual(copiesIn(folder), []);
  });
});

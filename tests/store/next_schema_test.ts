// needs: runtime
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { openKv } from "../../lib/runtime/kv.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import type { StoreDriver } from "../../lib/store/checked_store.ts";
import { type DenoKvStep, STEPS as KV_STEPS } from "../../lib/store/deno_kv/schema.ts";
import { openStore } from "../../lib/store/open.ts";
import { type PostgresStep, STEPS as POSTGRES_STEPS } from "../../lib/store/postgres/schema.ts";
import { openPostgresDriver } from "../../lib/store/postgres/open.ts";
import { type SqliteStep, STEPS as SQLITE_STEPS } from "../../lib/store/sqlite/schema.ts";
import { openSqliteDriver } from "../../lib/store/sqlite/open.ts";
import { answers } from "./asked_store.ts";
import { fillStore } from "./filled_store.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase } from "./postgres_shared.ts";
import { storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

/** A driver, and how a program would open its store that has one step more: every API key gets a note. */
interface Next {
  setting: string;
  /** `isDying`: the step fails when it has begun. */
  open(options: { onNotice?(notice: string): void }, isDying?: boolean): Promise<StoreDriver>;
  /** The notes of the keys. Undefined: keys have no notes. */
  notes(): Promise<Set<unknown> | undefined>;
}

/** Proves that a store migrates completely or not at all, and that no older program changes it then. */
function proveNext(name: string, isFile: boolean, make: () => Promise<Next>): void {
  test(`${name}: a store migrates from schema 1 to 2 with all its contents, and a program that knows 1 alone rejects it`, async () => {
    const { setting, open, notes } = await make();
    const first = await openStore(setting);
    await fillStore(first);
    const held = await answers(first);
    await first.close();

    const notices: string[] = [];
    const onNotice = (notice: string) => void notices.push(notice);
    await assert.rejects(open({ onNotice }, true), "a step that fails");
    assert.deepEqual(notices, []);
    const before = await openStore(setting);
    assert.deepEqual(await answers(before), held, "a step that failed has changed nothing for who knows 1");
    await before.close();

    for (const _ of [1, 2]) await (await open({ onNotice })).close();
    assert.equal(notices.length, 1);
    assert.match(notices[0]!, / now has schema 2, and had 1:/);
    assert.deepEqual(await notes(), new Set(["none"]));
    await assert.rejects(openStore(setting), storeError("newer_schema", "schema 2, this one knows up to 1"));
  });

  test(`${name}: a new store gets the newest schema at once`, async () => {
    const { setting, open } = await make();
    await (await open({ onNotice: (notice) => assert.fail(notice) })).close();
    await assert.rejects(openStore(setting), storeError("newer_schema"));
  });

  if (!isFile) return;
  test(`${name}: no program migrates a store that a gateway serves from`, async () => {
    const { setting, open, notes } = await make();
    const serving = await openStore(setting);
    await serving.holdForServing();
    await assert.rejects(open({}), storeError("locked", "is served by another gateway"));
    assert.equal(await notes(), undefined);
    await serving.close();
    await (await open({})).close();
  });
}

describe("the next schema", () => {
  const directory = folderForTests();
  let stores = 0;
  const newPath = () => join(directory, `${++stores}.db`);

  proveNext("sqlite", true, () => {
    const path = newPath();
    const step = (isDying: boolean): SqliteStep => (database) => {
      database.exec("ALTER TABLE api_key ADD COLUMN note TEXT NOT NULL DEFAULT 'none'");
      if (isDying) throw new Error("killed");
    };
    return Promise.resolve({
      setting: `sqlite:${path}`,
      open: (options, isDying = false) => openSqliteDriver(path, options, [...SQLITE_STEPS, step(isDying)]),
      async notes() {
        const database = await openSqlite(path);
        const rows = database.prepare("SELECT * FROM api_key").all();
        database.close();
        return rows.some((row) => "note" in row) ? new Set(rows.map(({ note }) => note)) : undefined;
      },
    });
  });

  if (runtimeName === "deno") {
    proveNext("Deno KV", true, () => {
      const path = newPath();
      const step = (isDying: boolean): DenoKvStep => async (kv) => {
        for await (const { key } of kv.list({ prefix: ["key"] })) {
          await kv.atomic().set(["note", ...key.slice(1)], "none").commit();
        }
        if (isDying) throw new Error("killed");
      };
      return Promise.resolve({
        setting: `deno-kv:${path}`,
        async open(options, isDying = false) {
          const { openDenoKvDriver } = await import("../../lib/store/deno_kv/open.ts");
          return await openDenoKvDriver(path, options, [...KV_STEPS, step(isDying)]);
        },
        async notes() {
          const kv = await openKv(path);
          const notes = await Array.fromAsync(kv.list({ prefix: ["note"] }), ({ value }) => value);
          kv.close();
          return notes.length === 0 ? undefined : new Set(notes);
        },
      });
    });
  }

  const programs = findPostgres();
  if (programs === undefined) return void test("PostgreSQL: needs its programs", { skip: true });
  const database = createDatabase(programs);
  after(async () => await (await database).remove());
  proveNext("PostgreSQL", false, async () => {
    const postgres = await database;
    const schema = `next_${++stores}`;
    const setting = postgres.setting({ schema });
    const step = (isDying: boolean): PostgresStep => (prefix) =>
      `ALTER TABLE ${prefix}api_key ADD COLUMN note text NOT NULL DEFAULT 'none'` +
      (isDying ? "; SELECT no_such_column" : "");
    return {
      setting,
      open: (options, isDying = false) => openPostgresDriver(setting, options, [...POSTGRES_STEPS, step(isDying)]),
      notes: async () => new Set((await postgres.sql(`SELECT DISTINCT note FROM ${schema}.api_key`)).split("\n")),
    };
  });
});

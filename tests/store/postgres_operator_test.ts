// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { inspectPostgres } from "../../lib/store/postgres/inspect.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { append, sampleEvent, storeError } from "./samples.ts";
import { sampleAttempt, settle, subscribe } from "./webhook_samples.ts";

const programs = findPostgres();

/** Legitimate settings of an operator for a database or a user. */
describe("a PostgreSQL database with other settings", { skip: programs === undefined }, () => {
  let postgres: SharedDatabase;
  before(async () => {
    postgres = await createDatabase(programs!);
  });
  after(async () => {
    for (const habit of ["bytes", "ascii", "latin"]) await postgres.sql(`DROP DATABASE IF EXISTS ${nameOf(habit)}`);
    await postgres.remove();
  });

  const nameOf = (habit: string) => `${postgres.name}_${habit}`;
  const settingOf = (habit: string) => postgres.setting().replace(postgres.name, nameOf(habit));

  test("with another output format for bytes returns the same events", async () => {
    await postgres.sql(`CREATE DATABASE ${nameOf("bytes")}`);
    await postgres.sql(`ALTER DATABASE ${nameOf("bytes")} SET bytea_output = 'escape'`);
    const store = await openStore(settingOf("bytes"));
    const [told] = await append(store, sampleEvent(1, { deviceHash: "5c".repeat(32), merchant: "a\\b" }));
    assert.deepEqual(await store.events.get(told!.id), told);
    await store.close();
  });

  const create = (habit: string, encoding: string) =>
    postgres.sql(`CREATE DATABASE ${nameOf(habit)} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);

  test("that stores texts as bytes stores every text", async () => {
    await create("ascii", "SQL_ASCII");
    const store = await openStore(settingOf("ascii"));
    await subscribe(store, "wh_1");
    const responseBody = "für 1 € \u{1F600} \u0001 \n";
    await settle(store, { subscriptionId: "wh_1", attempts: [sampleAttempt(1, { responseBody })] });
    const [attempt] = await store.deliveries.attempts("wh_1", { limit: 1 });
    assert.equal(attempt!.responseBody, responseBody);
    await store.close();
  });

  test("that cannot store every text is rejected with its encoding, also by an inspection", async () => {
    await create("latin", "LATIN1");
    const isRefused = storeError("unavailable", "LATIN1", "ENCODING 'UTF8'");
    await assert.rejects(openStore(settingOf("latin")), isRefused);
    await assert.rejects(inspectPostgres(settingOf("latin")), isRefused);
  });

  test("whose tables another user has restored is reported with the missing right, not as a missing store", async () => {
    const setting = postgres.setting({ schema: "restored", host: postgres.directory });
    await (await openStore(setting)).close();
    const other = nameOf("other");
    await postgres.sql(`CREATE ROLE ${other} LOGIN; ALTER SCHEMA restored OWNER TO ${other}`);
    const others = setting.replace("postgres@", `${other}@`);
    for (const mustExist of [false, true]) {
      await assert.rejects(openStore(others, { mustExist }), storeError("unavailable", "grant"));
    }
    await assert.rejects(inspectPostgres(others), storeError("unavailable", "grant"));
  });
});

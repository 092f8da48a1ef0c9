// needs: long, once
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import type { Intent } from "../../lib/store/intent.ts";
import { openStore } from "../../lib/store/open.ts";
import { SCHEMA_VERSION } from "../../lib/store/postgres/schema.ts";
import type { Reader } from "../../lib/store/webhook.ts";
import { answers, goOn } from "./asked_store.ts";
import { fillStore } from "./filled_store.ts";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";

/** What `fillStore` and `pg_dump` made of the program of that schema. */
const FORMER = { 1: "./fixtures/postgres_schema_1.sql.gz" };

/** The program of before raised no intent's term at its end, and counted what failed of a forgotten event. */
function asBefore(answered: Awaited<ReturnType<typeof answers>>): typeof answered {
  const { intent, readers } = answered as { intent: Intent; readers: Reader[] };
  intent.term -= 1;
  readers.find(({ subscription }) => subscription.id === "wh_2")!.progress.dead += 1;
  // When it was attempted was not kept.
  return JSON.parse(JSON.stringify(answered), (name, value) => name === "attemptedAtMs" ? 0 : value);
}

function describeMigration(programs: string): void {
  describe("a PostgreSQL store of a program of before", () => {
    let postgres: SharedDatabase;
    before(async () => {
      postgres = await createDatabase(programs);
    });
    after(() => postgres.remove());

    const columns = (schema: string) =>
      postgres.sql(`SELECT table_name, column_name, data_type, is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = '${schema}'
        ORDER BY table_name, column_name`);
    const indexes = async (schema: string) => {
      const found = await postgres.sql(
        `SELECT indexdef FROM pg_indexes WHERE schemaname = '${schema}' ORDER BY indexdef`,
      );
      return found.replaceAll(`${schema}.`, "");
    };

    for (const [schema, file] of Object.entries(FORMER)) {
      test(`schema ${schema}: all that it holds is there, and it goes on as a new one does`, async () => {
        await postgres.restore(gunzipSync(readFileSync(fileURLToPath(import.meta.resolve(file)))).toString());
        // Of other requests by now, which the tables do not know of.
        for (const [kind, now] of [["prepare", "webhook"], ["submit", "replay"]]) {
          await postgres.sql(`UPDATE gateway.intent SET kind = '${now}' WHERE kind = '${kind}'`);
        }
        const notices: string[] = [];
        const onNotice = (notice: string) => void notices.push(notice);
        const migrated = await openStore(postgres.setting(), { onNotice });
        assert.equal(notices.length, 1);
        assert.match(notices[0]!, new RegExp(`goes from schema ${schema} to ${SCHEMA_VERSION}: no program of before`));
        await (await openStore(postgres.setting(), { onNotice })).close();
        assert.equal(notices.length, 1);
        const made = await openStore(postgres.setting({ schema: "made" }));
        await fillStore(made);
        const { id, ...asked } = await answers(migrated);
        const { id: _other, ...expected } = asBefore(await answers(made));
        assert.match(id as string, /^\w{12}$/);
        assert.deepEqual(asked, expected);
        // Which nonce comes next goes by how long ago the last one was handed out.
        const { nonce, ...went } = await goOn(migrated);
        const { nonce: _own, ...expectedToGo } = await goOn(made);
        assert.match(nonce, /^\d+$/);
        assert.deepEqual(went, expectedToGo);
        assert.equal(await columns("gateway"), await columns("made"));
        assert.equal(await indexes("gateway"), await indexes("made"));
        await Promise.all([migrated.close(), made.close()]);
      });
    }
  });
}

const programs = findPostgres();
if (programs !== undefined) describeMigration(programs);
else describe("a PostgreSQL store of a program of before", () => void test("needs its programs", { skip: true }));

// needs: runtime
import { after, before, describe, test } from "node:test";
import { findPostgres } from "./postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "./postgres_shared.ts";
import { type EmptySchema, emptySchema } from "./postgres_schema.ts";
import { describeStore } from "./store_contract.ts";

function describePostgres(programs: string): void {
  let database: SharedDatabase;
  let schema: EmptySchema;
  let stores = 0;
  before(async () => {
    database = await createDatabase(programs);
    await database.useTestClock();
    schema = await emptySchema(database, "test");
  });
  after(async () => {
    await schema.close();
    await database.remove();
  });

  async function setting(): Promise<string> {
    await schema.empty();
    return database.setting({ schema: "test" });
  }

  describeStore("postgres", true, setting, {
    isShared: true,
    location: (setting) => setting.replace("postgres@", ""),
    newSetting: () => database.setting({ schema: `new_${++stores}` }),
    setClock: (nowMs) => database.setClock(nowMs),
  });
}

const programs = findPostgres();
if (programs !== undefined) describePostgres(programs);
else describe("the PostgreSQL store", () => void test("needs its programs, which are not here", { skip: true }));

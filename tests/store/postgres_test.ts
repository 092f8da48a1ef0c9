import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";
import { describeStore } from "./store_contract.ts";

/**
 * The database's clock, as the store asks for it, stands for these tests: a function of that name is found before
 * PostgreSQL's own. Another session reads what the test wrote at once.
 */
const TEST_CLOCK = `
  CREATE SCHEMA clock;
  CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS
    $$ SELECT to_timestamp(pg_read_file('clock')::bigint / 1000.0) $$;
  ALTER ROLE postgres IN DATABASE gateway SET search_path = clock, pg_catalog`;

function describePostgres(programs: string): void {
  let cluster: Cluster;
  let stores = 0;
  before(async () => {
    cluster = await startCluster(programs);
    await cluster.sql(TEST_CLOCK);
  });
  after(() => cluster.remove());

  describeStore("postgres", true, () => cluster.setting({ schema: `test_${++stores}` }), {
    isShared: true,
    location: (setting) => setting.replace("postgres@", ""),
    newSetting: (setting) => `${setting}_new`,
    setClock: (nowMs) => writeFileSync(join(cluster.data, "clock"), String(nowMs)),
  });
}

const programs = findPostgres();
if (programs !== undefined) describePostgres(programs);
else {describe("the PostgreSQL store", () =>
    void test("needs PostgreSQL's programs, which are not here", { skip: true }));}

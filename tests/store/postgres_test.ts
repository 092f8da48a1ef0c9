import { after, before, describe, test } from "node:test";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";
import { describeStore } from "./store_contract.ts";

function describePostgres(programs: string): void {
  let cluster: Cluster;
  let stores = 0;
  before(async () => {
    cluster = await startCluster(programs);
    await cluster.useTestClock();
  });
  after(() => cluster.remove());

  describeStore("postgres", true, () => cluster.setting({ schema: `test_${++stores}` }), {
    isShared: true,
    location: (setting) => setting.replace("postgres@", ""),
    newSetting: (setting) => `${setting}_new`,
    setClock: (nowMs) => cluster.setClock(nowMs),
  });
}

const programs = findPostgres();
if (programs !== undefined) describePostgres(programs);
else describe("the PostgreSQL store", () => void test("needs its programs, which are not here", { skip: true }));

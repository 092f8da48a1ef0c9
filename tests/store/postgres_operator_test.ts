import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";
import { append, sampleEvent } from "./samples.ts";

const programs = findPostgres();

/** What an operator may have set for a database or a user, which is nobody's mistake. */
describe("a PostgreSQL database of other habits", { skip: programs === undefined }, () => {
  let cluster: Cluster;
  before(async () => {
    cluster = await startCluster(programs!);
  });
  after(() => cluster.remove());

  const settingOf = (database: string) => cluster.setting().replace("/gateway", `/${database}`);

  test("that shows bytes in another form holds the same events", async () => {
    await cluster.sql("CREATE DATABASE bytes");
    await cluster.sql("ALTER DATABASE bytes SET bytea_output = 'escape'");
    const store = await openStore(settingOf("bytes"));
    const [told] = await append(store, sampleEvent(1, { deviceHash: "5c".repeat(32), merchant: "a\\b" }));
    assert.deepEqual(await store.events.get(told!.id), told);
    await store.close();
  });
});

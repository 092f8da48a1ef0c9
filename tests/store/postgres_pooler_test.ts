import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import {
  findPgbouncer,
  findPostgres,
  freePort,
  serverDirectory,
  startCluster,
  startServer,
  writeServerFile,
} from "./postgres_cluster.ts";
import { append, sampleEvent } from "./samples.ts";
import { courierLeases, sampleAttempt, subscribe } from "./webhook_samples.ts";

/** pgbouncer before a server, which gives a connection to whoever has a transaction, one after the other. */
async function startPooled(programs: string, pgbouncer: string) {
  const cluster = await startCluster(programs);
  const directory = serverDirectory();
  const port = await freePort();
  const file = join(directory, "pgbouncer.ini");
  writeServerFile(
    file,
    `[databases]\ngateway = host=127.0.0.1 port=${cluster.port} dbname=gateway user=postgres\n` +
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\nauth_type = any\n` +
      "pool_mode = transaction\ndefault_pool_size = 3\nlogfile = /dev/null\n",
  );
  const pooler = startServer([pgbouncer, file], "INT");
  return {
    setting: `postgres://postgres@127.0.0.1:${port}/gateway?prepare=false`,
    async stop() {
      pooler.stdin!.end();
      await new Promise((resolve) => pooler.once("exit", resolve));
      await cluster.remove();
      rmSync(directory, { recursive: true });
    },
  };
}

/** Once the server that has just been started answers. */
async function openSoon(open: () => Promise<Store>): Promise<Store> {
  for (let tries = 0;; tries++) {
    try {
      return await open();
    } catch (error) {
      if (tries === 100) throw error;
      await passed(50);
    }
  }
}

const [programs, pgbouncer] = [findPostgres(), findPgbouncer()];
const skip = programs === undefined || pgbouncer === undefined;
const ids = Array.from({ length: 12 }, (_, n) => `wh_${n}`);

test("a transaction pooler may stand between, with prepare=false: nothing rests on a session", { skip }, async () => {
  const pooled = await startPooled(programs!, pgbouncer!);
  const opened: Store[] = [];
  const open = async () => {
    const store = await openStore(pooled.setting);
    opened.push(store);
    return store;
  };
  try {
    const store = await openSoon(open);
    const other = await open();
    await subscribe(store, ...ids);
    await append(store, ...Array.from({ length: 50 }, (_, n) => sampleEvent(n)));
    const leases = await courierLeases(store, ...ids);
    const settled = Array.from({ length: 120 }, (_, n) =>
      (n % 2 ? store : other).deliveries.settle({
        leases,
        settlements: [{ subscriptionId: `wh_${n % 12}`, cursor: 1 + n % 50, attempts: [sampleAttempt(n)] }],
      }));
    const read = Array.from({ length: 120 }, () => other.events.read({ filter: {}, order: "asc", limit: 50 }));
    await Promise.all(settled);
    for (const events of await Promise.all(read)) assert.equal(events.length, 50);
    for (const id of ids) {
      const attempts = await store.deliveries.attempts(id, { limit: 99 });
      assert.deepEqual(attempts.map(({ ordinal }) => ordinal), Array.from({ length: 10 }, (_, at) => 10 - at));
    }
    const add = (n: number) =>
      store.registers.change<number, void>("sum", (sum = 0) => ({ value: sum + n, keepMs: 60_000, answer: undefined }));
    await Promise.all(Array.from({ length: 20 }, (_, n) => add(n)));
    assert.equal(await other.registers.read("sum"), 190);
  } finally {
    for (const store of opened) await store.close();
    await pooled.stop();
  }
});

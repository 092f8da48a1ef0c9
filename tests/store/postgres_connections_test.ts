import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { setTimeout as passed } from "node:timers/promises";
import { openStore } from "../../lib/store/open.ts";
import { openDatabase } from "../../lib/store/postgres/database.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import type { Store } from "../../lib/store/store.ts";
import { type Cluster, findPostgres, startCluster } from "./postgres_cluster.ts";
import { startPostgresProxy } from "./postgres_proxy.ts";
import { append, sampleEvent, sampleKey, storeError } from "./samples.ts";
import { sampleAttempt, settle, subscribe } from "./webhook_samples.ts";

/** A certificate for this address and its key, PEM: signed by itself, so that it is its own authority. */
function certificateFor(address: string): { certificate: string; key: string } {
  const directory = mkdtempSync(join(tmpdir(), "certificate-"));
  const [key, certificate] = [join(directory, "key.pem"), join(directory, "certificate.pem")];
  const subject = ["-subj", "/CN=test", "-addext", `subjectAltName=IP:${address}`];
  const kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  execFileSync("openssl", ["req", ...kind, "-keyout", key, "-out", certificate, ...subject], { stdio: "ignore" });
  const made = { certificate: readFileSync(certificate, "utf8"), key: readFileSync(key, "utf8") };
  rmSync(directory, { recursive: true });
  return made;
}

function describeConnections(programs: string): void {
  let cluster: Cluster;
  let folder: string;
  const opened: Store[] = [];
  const open = async (setting: string, options = {}) => {
    const store = await openStore(setting, options);
    opened.push(store);
    return store;
  };
  const { certificate, key } = certificateFor("127.0.0.1");

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "postgres-"));
    cluster = await startCluster(programs, {
      settings: ["ssl = on", "max_connections = 20", "superuser_reserved_connections = 3"],
      files: { "server.crt": certificate, "server.key": key },
      access: [
        "local all all trust",
        "host all postgres 127.0.0.1/32 trust",
        "hostssl all gateway 127.0.0.1/32 scram-sha-256",
        "host all plain 127.0.0.1/32 scram-sha-256",
      ],
    });
    await cluster.sql(
      "SET password_encryption = 'scram-sha-256'; CREATE ROLE gateway LOGIN PASSWORD 'hush'; " +
        "CREATE ROLE plain LOGIN PASSWORD 'hush'; GRANT CREATE ON DATABASE gateway TO gateway, plain",
    );
    writeFileSync(join(folder, "ca.pem"), certificate);
    writeFileSync(join(folder, "other.pem"), certificateFor("127.0.0.1").certificate);
  });
  after(async () => {
    await cluster.remove();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  /** As the user `gateway`, who is let in over TLS only. */
  const url = (parameters: Record<string, string>, user = "gateway", password = "hush") =>
    `postgres://${user}:${password}@127.0.0.1:${cluster.port}/gateway?${new URLSearchParams(parameters)}`;
  const isEncrypted = async (user: string) =>
    await cluster.sql(
      `SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '${user}'`,
    );

  describe("the way to PostgreSQL", () => {
    for (
      const [what, parameters] of [
        ["where the server can", {}],
        ["always, with sslmode=require", { sslmode: "require" }],
      ] as [string, Record<string, string>][]
    ) {
      test(`is encrypted ${what}, and works for many statements at once`, async () => {
        const store = await open(url({ ...parameters, schema: "tls" }));
        const written = Array.from({ length: 40 }, (_, n) => store.keys.insert(sampleKey(`${what}-${n}`)));
        await Promise.all(written);
        const large = sampleKey(`large-${what}`, { name: "x".repeat(200_000) });
        await store.keys.insert(large);
        assert.deepEqual(await store.keys.get(large.id), large);
        assert.equal(await isEncrypted("gateway"), "t");
      });
    }

    test("is to the server whose certificate the named authority signed, with sslmode=verify-full", async () => {
      const store = await open(url({ schema: "tls", sslmode: "verify-full", sslrootcert: join(folder, "ca.pem") }));
      await store.keys.insert(sampleKey("verified"));
      assert.equal(await isEncrypted("gateway"), "t");
    });

    test("is refused with a certificate of another authority, or of none that is known", async () => {
      for (const sslrootcert of [{ sslrootcert: join(folder, "other.pem") }, {}]) {
        const opening = open(url({ schema: "tls", sslmode: "verify-full", ...sslrootcert } as Record<string, string>));
        await assert.rejects(opening, (error: Error) => {
          assert.ok(!error.message.includes("hush"));
          return storeError("unavailable", `postgres://127.0.0.1:${cluster.port}`)(error);
        });
      }
    });

    test("is refused with a certificate for another address", async () => {
      const other = certificateFor("127.0.0.2");
      const wrong = await startCluster(programs, {
        settings: ["ssl = on"],
        files: { "server.crt": other.certificate, "server.key": other.key },
      });
      try {
        writeFileSync(join(folder, "wrong.pem"), other.certificate);
        const setting = wrong.setting({ sslmode: "verify-full", sslrootcert: join(folder, "wrong.pem") });
        await assert.rejects(open(setting), storeError("unavailable"));
        await open(wrong.setting({ sslmode: "require" }));
      } finally {
        await wrong.remove();
      }
    });

    test("is not taken where TLS is wanted and the server has none, and is taken where it is only preferred", async () => {
      const plain = await startCluster(programs);
      try {
        await assert.rejects(open(plain.setting({ sslmode: "require" })), storeError("unavailable"));
        await open(plain.setting());
      } finally {
        for (const store of opened.splice(0)) await store.close();
        await plain.remove();
      }
    });

    test("may be a Unix socket", async () => {
      const store = await open(`postgres://postgres@localhost:${cluster.port}/gateway?host=${cluster.directory}`);
      await store.keys.version();
    });

    test("is refused with a wrong password, a database that is not there and rights that are missing, by name", async () => {
      const wrong: [string, string][] = [
        [url({}, "gateway", "other"), "PGPASSWORD"],
        [url({}).replace("/gateway?", "/none?"), "create the database"],
        [url({ schema: "public" }), "grant"],
      ];
      for (const [setting, says] of wrong) {
        await assert.rejects(open(setting), (error: Error) => {
          assert.ok(!/hush|other/.test(error.message), error.message);
          return storeError("unavailable", says)(error);
        });
      }
    });

    test("is told to lack connections where all are taken", async () => {
      const settings = Array.from({ length: 30 }, (_, n) => url({ schema: "many", pool: "1", n: String(n) }, "plain"));
      const stores: Store[] = [];
      try {
        const opening = settings.map((setting) => open(setting.replace(/&n=\d+/, "")).then((one) => stores.push(one)));
        const outcomes = await Promise.allSettled(opening);
        const refused = outcomes.flatMap((one) => one.status === "rejected" ? [one.reason as Error] : []);
        assert.ok(refused.length > 0 && refused.length < 30, `${refused.length} were refused`);
        for (const error of refused) storeError("unavailable", "max_connections")(error);
        for (const store of stores) assert.equal(await store.keys.version(), 0);
      } finally {
        for (const store of opened.splice(0)) await store.close();
      }
    });

    test("is found again after the server's sessions were ended, and after it was restarted", async () => {
      const store = await open(url({ schema: "again" }));
      await store.keys.insert(sampleKey("a"));
      await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'");
      assert.equal((await store.keys.get("a"))?.id, "a", "a read is tried again");
      for (const mode of ["fast", "immediate"] as const) {
        await cluster.stop(mode);
        await assert.rejects(store.keys.get("a"), storeError("unavailable", store.location));
        await assert.rejects(
          store.leases.acquire({ name: "n", holder: "h", durationMs: 1 }),
          storeError("unavailable"),
        );
        await cluster.start();
        const startedAt = performance.now();
        for (;;) {
          const found = await store.keys.get("a").catch(() => undefined);
          if (found !== undefined) break;
          assert.ok(performance.now() - startedAt < 20_000, "it is not found again");
          await passed(50);
        }
        await append(store, sampleEvent(mode === "fast" ? 1 : 2));
      }
    });

    test("is made anew where it leads to a server, or is of a time, that could only be read", async () => {
      const store = await open(url({ schema: "readable" }));
      await cluster.sql("ALTER ROLE gateway SET default_transaction_read_only = on");
      await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'");
      assert.equal(await store.keys.version(), 0);
      await assert.rejects(store.keys.insert(sampleKey("a")), storeError("unavailable", "can only be read"));
      await cluster.sql("ALTER ROLE gateway RESET default_transaction_read_only");
      const startedAt = performance.now();
      while (!await store.keys.insert(sampleKey("a")).then(() => true, () => false)) {
        assert.ok(performance.now() - startedAt < 5_000, "its sessions stay as they were");
        await passed(50);
      }
    });

    test("is made anew where it leads nowhere: what waits for an answer is told so in time", async () => {
      await open(url({ schema: "stalled" }));
      const proxy = await startPostgresProxy(cluster.port);
      const setting = parsePostgresSetting(url({ schema: "stalled", sslmode: "disable" }, "postgres"));
      const database = openDatabase({ ...setting, port: proxy.port }, { answerMs: 400 });
      try {
        await database.read("SELECT 1");
        proxy.stall();
        await assert.rejects(database.read("SELECT 1"), storeError("unavailable", "does not answer"));
        const transaction = database.transaction((queries) => queries.read("SELECT 1"));
        await assert.rejects(transaction, storeError("unavailable", "does not answer"));
        proxy.flow();
        assert.equal((await database.read("SELECT 1")).length, 1);
      } finally {
        proxy.close();
        await database.close();
      }
    });

    test("keeps no lock for a process that stands still in the middle of a transaction", async () => {
      const setting = parsePostgresSetting(url({ schema: "still" }));
      const store = await open(url({ schema: "still" }));
      const held = (await store.leases.acquire({ name: "one", holder: "still", durationMs: 1 }))!;
      const database = openDatabase(setting);
      const still = database.transaction(async (queries) => {
        await queries.read("SELECT 1 FROM still.lease FOR UPDATE");
        await passed(6_000);
        return await queries.read("SELECT 1");
      });
      await Promise.all([
        assert.rejects(still),
        passed(500).then(async () => {
          const lease = await store.leases.acquire({ name: "one", holder: "other", durationMs: 1 });
          assert.ok(lease!.term > held.term);
        }),
      ]);
      await database.close();
    });

    test("a transaction that loses its connection fails alone, and no part of it is done elsewhere", async () => {
      await open(url({ schema: "lost" }));
      const database = openDatabase(parsePostgresSetting(url({ schema: "lost" })));
      const insert = "INSERT INTO lost.register VALUES ($1, '0', 0)";
      for (let n = 0; n < 5; n++) {
        const broken = assert.rejects(database.transaction(async (queries) => {
          await queries.write(insert, [`before ${n}`]);
          await Promise.allSettled([queries.read("SELECT pg_sleep(20)"), queries.write(insert, [`behind ${n}`])]);
          await queries.write(insert, [`after ${n}`]);
        }));
        const sleeping = "FROM pg_stat_activity WHERE query LIKE '%pg_sleep(20)%' AND pid <> pg_backend_pid()";
        while (await cluster.sql(`SELECT pg_terminate_backend(pid) ${sleeping}`) === "") await passed(20);
        await broken;
        await database.transaction((queries) => queries.write(insert, [`next ${n}`]));
      }
      const rows = await database.read<{ name: string }>("SELECT name FROM lost.register ORDER BY name");
      assert.deepEqual(rows.map(({ name }) => name), ["next 0", "next 1", "next 2", "next 3", "next 4"]);
      await database.close();
    });

    test("carries texts that PostgreSQL has no place for as far as they can be kept", async () => {
      const store = await open(url({ schema: "texts" }));
      await subscribe(store, "wh_1");
      await settle(store, {
        subscriptionId: "wh_1",
        attempts: [sampleAttempt(1, { responseBody: "a\0b\ud800c", error: "\\u0000 'quoted' \\" })],
      });
      const [attempt] = await store.deliveries.attempts("wh_1", { limit: 1 });
      assert.deepEqual([attempt!.responseBody, attempt!.error], ["a\ufffdb\ufffdc", "\\u0000 'quoted' \\"]);
    });

    test("two transactions that wait for each other both come to their end", async () => {
      await open(url({ schema: "circle" }));
      const database = openDatabase(parsePostgresSetting(url({ schema: "circle" })));
      await database.write("INSERT INTO circle.register VALUES ('a', '0', 0), ('b', '0', 0)");
      const raise = (names: string[]) =>
        database.transaction(async (queries) => {
          for (const name of names) {
            await queries.write("UPDATE circle.register SET until_ms = until_ms + 1 WHERE name = $1", [name]);
            await queries.read("SELECT pg_sleep(0.2)");
          }
        });
      await Promise.all([raise(["a", "b"]), raise(["b", "a"])]);
      const rows = await database.read<{ until_ms: number }>("SELECT until_ms FROM circle.register");
      assert.deepEqual(rows.map(({ until_ms }) => until_ms), [2, 2]);
      await database.close();
    });

    test("tells other gateways that the log has grown, again after the connection for it was lost", async () => {
      const one = await open(url({ schema: "news" }));
      const other = await open(url({ schema: "news" }));
      const elsewhere = await open(url({ schema: "no_news" }));
      const heard = { own: 0, others: 0, elsewhere: 0 };
      one.onNews(() => heard.own++);
      other.onNews(() => heard.others++);
      elsewhere.onNews(() => heard.elsewhere++);
      let n = 0;
      const isHeard = async () => {
        const before = heard.others;
        for (let tries = 0; tries < 100 && heard.others === before; tries++) {
          await append(one, sampleEvent(++n));
          await passed(100);
        }
        assert.ok(heard.others > before);
      };
      await isHeard();
      await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ILIKE 'listen%'");
      await isHeard();
      assert.deepEqual([heard.own, heard.elsewhere], [0, 0]);
      const [told, beganAt] = [heard.others, performance.now()];
      for (let more = 0; more < 60; more++) await append(one, sampleEvent(++n));
      await passed(200);
      const most = (performance.now() - beganAt) / 50 + 1;
      assert.ok(heard.others > told && heard.others - told <= most, `${heard.others - told} of ${most}`);
    });

    test("another program's schema is refused, and so is a newer program's", async () => {
      await cluster.sql("CREATE SCHEMA theirs; CREATE TABLE theirs.store (a int)");
      await assert.rejects(open(cluster.setting({ schema: "theirs" })), storeError("unavailable", "another program"));
      await open(cluster.setting({ schema: "newer" }));
      await cluster.sql("UPDATE newer.store SET schema_version = 99");
      await assert.rejects(open(cluster.setting({ schema: "newer" })), storeError("newer_schema", "99"));
      const missing = open(cluster.setting({ schema: "none" }), { mustExist: true });
      await assert.rejects(missing, storeError("missing", "gateway keygen"));
      assert.equal(await cluster.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'none'"), "0");
    });
  });
}

const programs = findPostgres();
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (programs !== undefined && hasOpenssl) describeConnections(programs);
else describe("the way to PostgreSQL", () => void test("needs its programs and openssl, not all here", { skip: true }));

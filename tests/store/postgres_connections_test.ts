// needs: runtime
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { until } from "../until.ts";
import { type Cluster, startCluster } from "./postgres_cluster.ts";
import { dataDirectory } from "./postgres_database.ts";
import { findPostgres, writeServerFile } from "./postgres_programs.ts";
import { createDatabase } from "./postgres_shared.ts";
import { append, sampleEvent, sampleKey, storeError } from "./samples.ts";

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
  const own = certificateFor("127.0.0.1");

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "postgres-"));
    cluster = await startCluster(programs, {
      settings: ["ssl = on", "max_connections = 20", "superuser_reserved_connections = 3"],
      files: { "server.crt": own.certificate, "server.key": own.key },
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
    writeFileSync(join(folder, "ca.pem"), own.certificate);
    writeFileSync(join(folder, "other.pem"), certificateFor("127.0.0.1").certificate);
  });
  after(async () => {
    await cluster.remove();
    rmSync(folder, { recursive: true });
  });
  afterEach(async () => {
    for (const store of opened.splice(0)) await store.close();
  });

  /** Restarts the server with this certificate. */
  async function present({ certificate, key }: typeof own): Promise<void> {
    await cluster.stop("fast");
    writeServerFile(join(dataDirectory(cluster.directory), "server.crt"), certificate);
    writeServerFile(join(dataDirectory(cluster.directory), "server.key"), key);
    await cluster.start();
  }

  /** Connects as the user `gateway`, which needs TLS. */
  const url = (parameters: Record<string, string>, user = "gateway", password = "hush") =>
    `postgres://${user}:${password}@127.0.0.1:${cluster.port}/gateway?${new URLSearchParams(parameters)}`;
  const isEncrypted = async (user: string) =>
    await cluster.sql(
      `SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = '${user}'`,
    );

  describe("the connection to PostgreSQL", () => {
    const modes: [string, Record<string, string>][] = [["where the server can", {}], ["always, with sslmode=require", {
      sslmode: "require",
    }]];
    for (const [what, parameters] of modes) {
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

    test("with sslmode=verify-full works when the named authority signed the server's certificate", async () => {
      const store = await open(url({ schema: "tls", sslmode: "verify-full", sslrootcert: join(folder, "ca.pem") }));
      await store.keys.insert(sampleKey("verified"));
      assert.equal(await isEncrypted("gateway"), "t");
    });

    test("is rejected with a certificate of another or an unknown authority", async () => {
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
      await present(other);
      try {
        writeFileSync(join(folder, "wrong.pem"), other.certificate);
        const wrong = { schema: "tls", sslmode: "verify-full", sslrootcert: join(folder, "wrong.pem") };
        await assert.rejects(open(url(wrong)), storeError("unavailable"));
        await open(url({ schema: "tls", sslmode: "require" }));
      } finally {
        await present(own);
      }
    });

    test("is rejected when TLS is required and the server has none, and works when TLS is preferred", async () => {
      const plain = await createDatabase(programs);
      try {
        await assert.rejects(open(plain.setting({ sslmode: "require" })), storeError("unavailable"));
        await open(plain.setting());
      } finally {
        for (const store of opened.splice(0)) await store.close();
        await plain.remove();
      }
    });

    test("can use a Unix socket", async () => {
      const store = await open(`postgres://postgres@localhost:${cluster.port}/gateway?host=${cluster.directory}`);
      await store.keys.version();
    });

    test("is rejected with a wrong password, a missing database or missing rights, and the error names the cause", async () => {
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

    test("reports that the server has no free connection", async () => {
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

    test("recovers after the server ends its sessions, and after a restart", async () => {
      const store = await open(url({ schema: "again" }));
      await store.keys.insert(sampleKey("a"));
      await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'");
      assert.equal((await store.keys.get("a"))?.id, "a", "the store repeats a read");
      for (const mode of ["fast", "immediate"] as const) {
        await cluster.stop(mode);
        await assert.rejects(store.keys.get("a"), storeError("unavailable", store.location));
        const acquiring = store.leases.acquire({ name: "n", holder: "h", durationMs: 1 });
        await assert.rejects(acquiring, storeError("unavailable"));
        await cluster.start();
        await until(() => store.keys.get("a").catch(() => undefined));
        await append(store, sampleEvent(mode === "fast" ? 1 : 2));
      }
    });

    test("is replaced when its server or its session is read-only", async () => {
      const store = await open(url({ schema: "readable" }));
      await cluster.sql("ALTER ROLE gateway SET default_transaction_read_only = on");
      await cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'gateway'");
      assert.equal(await store.keys.version(), 0);
      await assert.rejects(store.keys.insert(sampleKey("a")), storeError("unavailable", "can only be read"));
      await cluster.sql("ALTER ROLE gateway RESET default_transaction_read_only");
      await until(() => store.keys.insert(sampleKey("a")).then(() => true, () => false));
    });
  });
}

const programs = findPostgres();
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (programs !== undefined && hasOpenssl) describeConnections(programs);
else {describe("the connection to PostgreSQL", () =>
    void test("needs its programs and openssl, not all here", { skip: true }));}

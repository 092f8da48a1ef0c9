// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { toStoreError } from "../../lib/store/postgres/errors.ts";
import { parsePostgresSetting } from "../../lib/store/postgres/setting.ts";
import type { StoreErrorKind } from "../../lib/store/store.ts";
import { storeError } from "./samples.ts";

describe("the setting of a PostgreSQL store", () => {
  test("names server, database and user, and has a location without user and password", () => {
    const whole = parsePostgresSetting(
      "postgres://us%40er:hush%2F@db.example:6432/gate%20way?schema=shop&sslmode=require&prepare=false&pool=3",
      {},
    );
    assert.deepEqual(whole, {
      location: "postgres://db.example:6432/gate%20way?schema=shop",
      host: "db.example",
      port: 6_432,
      database: "gate way",
      user: "us@er",
      password: "hush/",
      schema: "shop",
      sslmode: "require",
      certificateAuthorities: undefined,
      prepare: false,
      poolSize: 3,
    });
  });

  test("has a default for every other part, and accepts a password in PGPASSWORD", () => {
    const { location, port, password, ...rest } = parsePostgresSetting("postgresql://u@h/d", { PGPASSWORD: "hush" });
    assert.deepEqual([location, port, password], ["postgres://h:5432/d", 5_432, "hush"]);
    assert.deepEqual([rest.schema, rest.sslmode, rest.prepare, rest.poolSize], ["gateway", "prefer", true, 10]);
    assert.equal(parsePostgresSetting("postgres://u:mine@h/d", { PGPASSWORD: "hush" }).password, "mine");
  });

  test("can name an IPv6 address, or the directory of a Unix socket", () => {
    assert.equal(parsePostgresSetting("postgres://u@[::1]:1/d", {}).location, "postgres://[::1]:1/d");
    const socket = parsePostgresSetting("postgres://u@localhost/d?host=/run/postgresql", {});
    assert.deepEqual([socket.host, socket.location], ["/run/postgresql", "postgres:///d?host=/run/postgresql"]);
  });

  test("accepts the URL of a hosted database unchanged", () => {
    const url = "postgresql://u:p@ep-1.eu.example.com/d?sslmode=require&channel_binding=require&connect_timeout=9";
    assert.deepEqual(parsePostgresSetting(url, {}).sslmode, "require");
  });

  const wrong: [string, string][] = [
    ["postgres://u:hush#1@h/d", "write # as %23"],
    ["postgres://u:hush/1@h/d", "/ as %2F"],
    ["postgres://u:hush@h/d#hush", "must have no fragment"],
    ["postgres://u:hush@h", "must name a database"],
    ["postgres://u:hush@h:port/d", "cannot be read"],
    ["postgres:///d", "must name a host"],
    ["postgres://u:50%hush@h/d", "%25"],
    ["postgres://u%:hush@h/d", "%25"],
    ["postgres://u:hush@h%/d", "%25"],
    ["postgres://u:hush@h/d%ff", "%25"],
    ["postgres://u:hush@h/d?sslmode=verify-ca", "sslmode must be disable, prefer, require, verify-full"],
    ["postgres://u:hush@h/d?sslmod=require", '"sslmod"'],
    ["postgres://u:hush@h/d?pool=0", "pool must be an integer from 1 to 100"],
    ["postgres://u:hush@h/d?prepare=no", "prepare must be true, false"],
    ["postgres://u:hush@h/d?schema=My-Shop", "schema must be"],
    ["postgres://u:hush@h/d?schema=pg_catalog", "schema must be"],
    ["postgres://u:hush@h/d?host=run", "directory of a Unix socket"],
    ["postgres://u:hush@h/d?sslrootcert=/none/ca.pem", "sslrootcert cannot be read"],
    ["postgres://u:hush@h/d?sslrootcert=ca.pem&sslmode=require", "sslmode=verify-full"],
  ];
  for (const [setting, says] of wrong) {
    test(`${setting} is rejected with the name of the wrong part`, () => {
      assert.throws(() => parsePostgresSetting(setting, {}), (error: Error) => {
        assert.ok(!error.message.includes("hush"), error.message);
        // A file that is not there may come, as a disk that is not mounted yet.
        const isOfFile = says.includes("cannot be read") && setting.includes("ca.pem");
        return storeError(isOfFile ? "unavailable" : "setting", says)(error);
      });
    });
  }
});

describe("errors of PostgreSQL", () => {
  const kinds: [code: string, kind: StoreErrorKind, says: string][] = [
    ["53100", "full", "make room"],
    ["53300", "unavailable", "max_connections"],
    ["28P01", "unavailable", "PGPASSWORD"],
    ["3D000", "unavailable", "create the database"],
    ["42501", "unavailable", "grant"],
    ["25006", "unavailable", "primary"],
    ["26000", "unavailable", "prepare=false"],
    ["55P03", "unavailable", "busy"],
    ["42P01", "missing", "lost its tables"],
    ["57P01", "unavailable", "cannot be reached"],
    ["ECONNREFUSED", "unavailable", "cannot be reached"],
    ["CONNECT_TIMEOUT", "unavailable", "cannot be reached"],
    ["XX000", "unavailable", "cannot be used"],
  ];
  for (const [code, kind, says] of kinds) {
    test(`${code} becomes ${kind}: ${says}`, () => {
      const error = Object.assign(new Error("as it says"), { code, parameters: ["whsec_hush"] });
      const told = toStoreError(error, "postgres://h/d") as Error;
      storeError(kind, says, "postgres://h/d")(told);
      assert.ok(!JSON.stringify(told.cause, Object.getOwnPropertyNames(told.cause)).includes("hush"));
    });
  }

  test("any other error stays unchanged", () => {
    const error = new RangeError("limit");
    assert.equal(toStoreError(error, "postgres://h/d"), error);
  });
});

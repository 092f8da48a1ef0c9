// needs: runtime
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { after, before, describe, test } from "node:test";
import { lockFile } from "../../lib/runtime/file_lock.ts";
import { openStore } from "../../lib/store/open.ts";
import { runHere } from "../e2e/here.ts";
import { runGateway } from "../e2e/sandbox_process.ts";
import { startServe } from "../faults/serve_process.ts";
import { findPostgres } from "../store/postgres_cluster.ts";
import { createDatabase, type SharedDatabase } from "../store/postgres_shared.ts";
import { failingSandboxHere } from "./sandbox/sandbox_here.ts";

const folder = mkdtempSync(join(tmpdir(), "start-failure-"));
const taken = createServer();
let port: string;
before(async () => {
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  port = String((taken.address() as { port: number }).port);
});
after(() => {
  taken.close();
  rmSync(folder, { recursive: true });
});

const NOBODY = ["--store", "memory:", "--rpc-url", "http://127.0.0.1:9"];

test("a gateway whose port is in use ends, and its last line names the cause, also with a failing node", async () => {
  const { code, stderr } = await runGateway(["serve", "--port", port, ...NOBODY]);
  assert.equal(code, 1);
  assert.equal(
    stderr.trimEnd().split("\n").at(-1),
    `gateway serve: cannot listen on 127.0.0.1:${port}: the port is in use: stop the program that listens there (ss -ltnp shows ` +
      "it), or choose another port with SERVICE_API_PORT (--port)",
  );
});

test("the last line of a gateway names an unknown host", async () => {
  const { code, stderr } = await runHere(["serve", "--port", "0", "--host", "256.1.1.1", ...NOBODY], {});
  assert.equal(code, 1);
  assert.equal(
    stderr.trimEnd().split("\n").at(-1),
    "gateway serve: cannot listen on 256.1.1.1:0: the host is neither an IP address nor a name that this machine knows: " +
      "set SERVICE_API_HOST (--host) to an address of this machine: 127.0.0.1 for itself only, 0.0.0.0 for all",
  );
});

test("a wrong parameter in the URL of a PostgreSQL store is a wrong setting, so systemd does not retry", async () => {
  const store = "postgres://gateway@127.0.0.1/gateway?sslmod=require";
  const { code, stderr } = await runHere(["serve", "--store", store], {});
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^gateway serve: the store's URL has an unknown parameter "sslmod": known are .*\nSee: gateway help serve\n$/,
  );
});

test("a sandbox that cannot start prints only the cause", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const inUse = `cannot listen on 127.0.0.1:${port}: the port is in use`;
  const used = mkdtempSync(join(folder, "used-"));
  const lock = await lockFile(join(used, "ledger.db-lock"));
  const none = join(folder, "none");
  const failures: [string[], string][] = [
    [["--port", port], `${inUse}: choose another with --port (0 picks a free one)`],
    [["--rpc-port", port], `${inUse}: choose another with --rpc-port (0 picks a free one)`],
    [["--state", file], `--state ${file} cannot be created: something else is there`],
    [
      ["--state", join(none, "state")],
      `--state must be in a folder that exists; got ${join(none, "state")}. Create ${none}`,
    ],
    [["--state", used], `another sandbox uses ${join(used, "ledger.db")}: stop it, or name another folder`],
  ];
  for (const [flags, why] of failures) {
    assert.deepEqual(await failingSandboxHere(flags), { code: 1, stdout: "", stderr: `gateway sandbox: ${why}\n` });
  }
  lock!.release();
  assert.ok(!existsSync(none));
});

test("a sandbox without a temporary folder names the folder and the variable to set", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const places = { [join(folder, "none")]: "there is no such folder", [file]: "a part of the path is not a folder" };
  const former = process.env.TMPDIR;
  try {
    for (const [place, why] of Object.entries(places)) {
      process.env.TMPDIR = place;
      const advice = "set TMPDIR to another folder, or use --state\n";
      const stderr = `gateway sandbox: cannot create a folder in ${place} (${why}): ${advice}`;
      assert.deepEqual(await failingSandboxHere([]), { code: 1, stdout: "", stderr });
    }
  } finally {
    if (former === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = former;
  }
});

const programs = findPostgres();
const skip = programs === undefined && "needs PostgreSQL's programs";
describe("on PostgreSQL, whose connections keep a process alive,", { skip }, () => {
  let database: SharedDatabase;
  before(async () => void (database = await createDatabase(programs!)));
  after(() => database.remove());

  test("a gateway whose keys cannot be read ends, and logs the cause", async () => {
    const keysFile = join(folder, "keys.json");
    writeFileSync(keysFile, '[{ "id": "half', { mode: 0o600 });
    const env = { SERVICE_API_STORE: database.setting() };
    const { code, stderr } = await runGateway(["serve", "--port", "0", "--keys-file", keysFile], env);
    assert.match(stderr, /keys file .* must be JSON/);
    assert.equal(code, 1);
  });

  test("a gateway that cannot count its keys serves, and stops at a signal", async () => {
    await (await openStore(database.setting())).close();
    await database.sql("DROP TABLE gateway.api_key");
    const gateway = await startServe({ "port": "0", "store": database.setting(), "rpc-url": "http://127.0.0.1:9" });
    try {
      assert.equal((await fetch(`${gateway.url}/v1/health`)).status, 200);
      gateway.signal("SIGTERM");
      assert.equal(await gateway.ended, 0, gateway.log());
    } finally {
      gateway.kill();
    }
  });
});

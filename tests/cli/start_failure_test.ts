import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { lockFile } from "../../lib/runtime/file_lock.ts";
import { openStore } from "../../lib/store/open.ts";
import { runGateway } from "../e2e/sandbox_process.ts";
import { startServe } from "../faults/serve_process.ts";
import { type Cluster, findPostgres, startCluster } from "../store/postgres_cluster.ts";

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

test("the last line of a gateway that could not start says why, whatever its node does", async () => {
  const failures: [string[], string][] = [
    [
      ["--port", port],
      `cannot listen on 127.0.0.1:${port}: the port is in use: stop what listens there (ss -ltnp shows it), or choose ` +
      "another port with SERVICE_API_PORT (--port)",
    ],
    [
      ["--port", "0", "--host", "256.1.1.1"],
      "cannot listen on 256.1.1.1:0: the host is neither an IP address nor a name that is known here: set " +
      "SERVICE_API_HOST (--host) to an address of this machine: 127.0.0.1 for itself only, 0.0.0.0 for all",
    ],
  ];
  for (const [flags, why] of failures) {
    const { code, stderr } = await runGateway(["serve", ...flags, ...NOBODY]);
    assert.deepEqual([code, stderr.trimEnd().split("\n").at(-1)], [1, `gateway serve: ${why}`]);
  }
});

test("a wrong part in the URL of a PostgreSQL store is a wrong setting: under systemd it is not tried again", async () => {
  const { code, stderr } = await runGateway([
    "serve",
    "--store",
    "postgres://gateway@127.0.0.1/gateway?sslmod=require",
  ]);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^gateway serve: the store's URL has an unknown parameter "sslmod": known are .*\nSee: gateway help serve\n$/,
  );
});

test("a sandbox that could not start says nothing but why", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const inUse = `cannot listen on 127.0.0.1:${port}: the port is in use`;
  const used = mkdtempSync(join(folder, "used-"));
  const lock = await lockFile(join(used, "ledger.db-lock"));
  // Whoever runs the tests may have a sandbox of their own at the ports that one takes.
  const anyPorts = ["--port", "0", "--rpc-port", "0"];
  const failures: [string[], string][] = [
    [["--port", port, "--rpc-port", "0"], `${inUse}: name another with --port, 0 picks a free one`],
    [["--port", "0", "--rpc-port", port], `${inUse}: name another with --rpc-port, 0 picks a free one`],
    [[...anyPorts, "--state", file], `--state ${file} cannot be made: something else is there`],
    [
      [...anyPorts, "--state", join(folder, "none", "state")],
      `--state ${join(folder, "none", "state")} cannot be made: there is no folder ${join(folder, "none")}: make it, ` +
      "or name another",
    ],
    [
      [...anyPorts, "--state", used],
      `${join(used, "ledger.db")} is in use by another sandbox: stop that one, or name another place`,
    ],
  ];
  for (const [flags, why] of failures) {
    const failed = await runGateway(["sandbox", ...flags]);
    assert.deepEqual(failed, { code: 1, stdout: "", stderr: `gateway sandbox: ${why}\n` });
  }
  lock!.release();
  assert.ok(!existsSync(join(folder, "none")));
});

test("a sandbox that has no place for its own folder names it, and what to set", async () => {
  const none = join(folder, "none");
  const places = [[none, "there is no such folder"], [
    join(folder, "file"),
    "a part of the path is no folder",
  ]] as const;
  writeFileSync(places[1][0], "");
  for (const [TMPDIR, why] of places) {
    assert.deepEqual(await runGateway(["sandbox", "--port", "0", "--rpc-port", "0"], { TMPDIR }), {
      code: 1,
      stdout: "",
      stderr: `gateway sandbox: no folder can be made in ${TMPDIR}: ${why}: set TMPDIR to another, or keep it with ` +
        "--state\n",
    });
  }
});

const programs = findPostgres();
const skip = programs === undefined && "needs PostgreSQL's programs";
describe("on PostgreSQL, whose connections keep a process alive,", { skip }, () => {
  let cluster: Cluster;
  before(async () => void (cluster = await startCluster(programs!)));
  after(() => cluster.remove());

  test("a gateway whose keys cannot be read ends, and says why", async () => {
    const keysFile = join(folder, "keys.json");
    writeFileSync(keysFile, '[{ "id": "half', { mode: 0o600 });
    const env = { SERVICE_API_STORE: cluster.setting() };
    const { code, stderr } = await runGateway(["serve", "--port", "0", "--keys-file", keysFile], env);
    assert.match(stderr, /keys file .* must be JSON/);
    assert.equal(code, 1);
  });

  test("a gateway that could not be told whether there are keys serves, and stops when it is asked to", async () => {
    await (await openStore(cluster.setting())).close();
    await cluster.sql("DROP TABLE gateway.api_key");
    const gateway = await startServe({ "port": "0", "store": cluster.setting(), "rpc-url": "http://127.0.0.1:9" });
    try {
      assert.equal((await fetch(`${gateway.url}/v1/health`)).status, 200);
      gateway.signal("SIGTERM");
      assert.equal(await gateway.ended, 0, gateway.log());
    } finally {
      gateway.kill();
    }
  });
});

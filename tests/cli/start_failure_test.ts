import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { lockFile } from "../../lib/runtime/file_lock.ts";
import { runGateway } from "../e2e/sandbox_process.ts";

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
    [["--port", port], `cannot listen on 127.0.0.1:${port}: the port is in use`],
    [
      ["--port", "0", "--host", "256.1.1.1"],
      "cannot listen on 256.1.1.1:0: the host is neither an IP address nor a " +
      "name that is known here",
    ],
  ];
  for (const [flags, why] of failures) {
    const { code, stderr } = await runGateway(["serve", ...flags, ...NOBODY]);
    assert.deepEqual([code, stderr.trimEnd().split("\n").at(-1)], [1, `gateway serve: ${why}`]);
  }
});

test("a sandbox that could not start says nothing but why", async () => {
  const file = join(folder, "file");
  writeFileSync(file, "");
  const inUse = `cannot listen on 127.0.0.1:${port}: the port is in use`;
  const used = mkdtempSync(join(folder, "used-"));
  const lock = await lockFile(join(used, "ledger.db-lock"));
  const failures: [string[], string][] = [
    [["--port", port, "--rpc-port", "0"], `${inUse}: name another with --port, 0 picks a free one`],
    [["--rpc-port", port, "--port", "0"], `${inUse}: name another with --rpc-port, 0 picks a free one`],
    [["--state", file], `--state ${file} cannot be made: something else is there`],
    [
      ["--state", join(folder, "none", "state")],
      `--state ${join(folder, "none", "state")} cannot be made: there is no folder ${join(folder, "none")}: make it, ` +
      "or name another",
    ],
    [
      ["--state", used],
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

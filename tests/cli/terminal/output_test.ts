// needs: runtime
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { before, describe, test } from "node:test";
import { runHere } from "../../e2e/here.ts";
import { environment, sourceCommand } from "../../e2e/sandbox_process.ts";
import { prepareStateFolder } from "../../sandbox/ready_folder.ts";
import { isLong } from "../../tier.ts";
import { folderForTests } from "../../folder.ts";

const folder = folderForTests();
before(async () => {
  mkdirSync(join(folder, "state"));
  await prepareStateFolder(join(folder, "state"));
});

/** Runs `gateway ARGS REDIRECTION` in a shell. */
function gateway(args: string, redirection: string): Promise<{ code: number; err: string }> {
  return shell(`"$@" ${args} ${redirection}`);
}

/** The same where standard output is a pipe whose reader has gone, which is waited for. */
function gatewayWithoutReader(args: string): Promise<{ code: number; err: string }> {
  return shell(`rm -f gone && mkfifo gone
    { read -r _ <gone; "$@" ${args}; echo $? >code; } | { exec 0<&-; echo >gone; }; exit "$(cat code)"`);
}

function shell(script: string): Promise<{ code: number; err: string }> {
  const args = ["-c", script, "gateway", ...sourceCommand()];
  return new Promise((resolve) => {
    execFile("sh", args, { cwd: folder, env: environment() }, (error, _stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), err: stderr });
    });
  });
}

const printed = () => readFileSync(join(folder, "printed"), "utf8");

const sandbox = "sandbox --port 0 --rpc-port 0 --ledger-ms 0 --state state";
const keygen = "keygen --name lost --scopes read --keys-file keys.json";

async function assertNoKeys(): Promise<void> {
  const file = join(folder, "keys.json");
  if (!existsSync(file)) return;
  const listed = await runHere(["keys", "list", "--json", "--keys-file", file], {});
  assert.deepEqual(listed, { code: 0, stdout: "", stderr: "" });
}

function registerTests(): void {
  test("a command whose reader is gone ends without a message, as other programs do", async () => {
    for (const args of ["help", "openapi", ...(isLong ? ["version", sandbox] : [])]) {
      assert.deepEqual(await gatewayWithoutReader(args), { code: 141, err: "" }, args);
    }
  });

  test("a full disk gives one line of error and a failing exit code", async () => {
    const cases = [["help", "gateway"], ["version", "gateway version"], [sandbox, "gateway sandbox"]];
    for (const [args, who] of cases) {
      const { code, err } = await gateway(args!, ">/dev/full");
      assert.deepEqual([code, err], [1, `${who}: standard output cannot be written: the disk is full\n`]);
    }
  });

  test("keygen deletes a key that it cannot print, and reports it", async () => {
    for (const lost of [() => gateway(keygen, ">/dev/full"), () => gatewayWithoutReader(keygen)]) {
      const { code, err } = await lost();
      assert.equal(code, 1);
      const why =
        /^gateway keygen: standard output cannot be written: .*, so the key was deleted again from file:.*\n$/;
      assert.match(err, why);
      await assertNoKeys();
    }
  });

  test("keygen --record prints no record when its key cannot be printed", async () => {
    const record = "keygen --name lost --scopes read --record";
    for (const redirection of ["2>/dev/full", "2>&-"]) {
      assert.deepEqual(await gateway(record, `>printed ${redirection}`), { code: 1, err: "" }, redirection);
      assert.equal(printed(), "");
    }
  });

  test("keygen creates no key when standard output is closed, but one with output to /dev/null", async () => {
    const closed = await gateway(keygen, ">&-");
    assert.equal(closed.code, 1);
    assert.match(closed.err, /^gateway keygen: standard output is closed, so no key was created\n$/);
    await assertNoKeys();
    assert.equal((await gateway(keygen, ">/dev/null")).code, 0);
  });
}

// Only Linux shows how a file was opened, and has a device that is always full.
if (process.platform === "linux") describe("standard output", registerTests);

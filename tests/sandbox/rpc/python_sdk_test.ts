// needs: long, once
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { INSTALL_MS, PACKAGE, pythonWithSdk } from "./python.ts";
import { openSandboxRpc } from "./sandbox_rpc.ts";

const STORY_MS = 60_000;

const run = promisify(execFile);

test(
  "an unchanged Python SDK funds, trusts, pays, calls an asset's contract and reads its event",
  { timeout: INSTALL_MS + STORY_MS },
  async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "python-sdk-"));
    const python = await pythonWithSdk(folder);
    if (python === undefined) {
      await rm(folder, { recursive: true });
      return t.skip(`needs python3 with venv, and ${PACKAGE}`);
    }
    const sandbox = await openSandboxRpc();
    try {
      const script = join(import.meta.dirname!, "python_sdk.py");
      const { stdout } = await run(python, [script, sandbox.url, sandbox.network.passphrase], { timeout: STORY_MS });
      const { passphrase, held, transfer, people, isOfThisTransaction } = JSON.parse(stdout);
      assert.equal(passphrase, sandbox.network.passphrase);
      assert.equal(held, 300_000_000);
      assert.deepEqual(transfer, ["transfer", ...people]);
      assert.equal(isOfThisTransaction, true);
    } finally {
      await sandbox.stop();
      await rm(folder, { recursive: true });
    }
  },
);

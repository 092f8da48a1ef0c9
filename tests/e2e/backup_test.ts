// needs: runtime
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { tellBackup } from "./backup_story.ts";
import { type SandboxProcess, sourceCommand, startSandbox } from "./sandbox_process.ts";

const folder = mkdtempSync(join(tmpdir(), "gateway-backup-"));
let sandbox: SandboxProcess;
before(async () => {
  sandbox = await startSandbox();
});
after(async () => {
  await sandbox.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("a store backed up under load starts another gateway that goes on from there", async () => {
  await tellBackup(sandbox.info, sourceCommand(), folder);
});

test("without --state a sandbox leaves nothing behind", async () => {
  const path = sandbox.info.store.replace(/^[a-z-]+:/, "");
  assert.ok(existsSync(path));
  assert.equal(await sandbox.stop("SIGINT"), 0, sandbox.log());
  assert.ok(!existsSync(path));
});

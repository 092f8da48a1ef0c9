// needs: runtime
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { tellBackup } from "./backup_story.ts";
import { sandboxOfFile, sourceCommand } from "./sandbox_process.ts";
import { folderForTests } from "../folder.ts";

const sandbox = sandboxOfFile();
const folder = folderForTests();

test("a second gateway starts on a backup that was made under load, and continues from it", async () => {
  await tellBackup(sandbox.info, sourceCommand(), folder);
});

test("a sandbox without --state removes its store when it stops", async () => {
  const path = sandbox.info.store.replace(/^[a-z-]+:/, "");
  assert.ok(existsSync(path));
  assert.equal(await sandbox.stop("SIGINT"), 0, sandbox.log());
  assert.ok(!existsSync(path));
});

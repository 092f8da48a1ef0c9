// needs: once
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { copyStore } from "../../lib/store/copy/copy_store.ts";
import { openStore } from "../../lib/store/open.ts";

test("a complete copy opens, also on a machine whose clock is behind", async () => {
  const folder = await mkdtemp(join(tmpdir(), "copy-clock-"));
  const source = await openStore("memory:");
  const setting = `sqlite:${join(folder, "copy.db")}`;
  const target = await openStore(setting, { isCopyTarget: true });
  await copyStore({ source, target });
  await target.close();
  const opened = await openStore(setting, { now: () => Date.now() - 5_000 }).catch((error) => error);
  assert.equal(opened.id, source.id, String(opened));
  await opened.close();
  await source.close();
  await rm(folder, { recursive: true });
});

// needs: once
import assert from "node:assert/strict";
import { copyFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { inspectStore } from "../../lib/store/file/inspect.ts";
import { openStore } from "../../lib/store/open.ts";
import { sampleKey } from "./samples.ts";

test("the store neither applies nor deletes a deleted database's log behind a link", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "leftover-link-"));
  t.after(() => rm(folder, { recursive: true }));
  const [real, link] = [join(folder, "volume.db"), join(folder, "gateway.db")];
  symlinkSync("volume.db", link);
  const store = await openStore(`sqlite:${link}`);
  await store.keys.insert(sampleKey("key1"));
  copyFileSync(`${real}-wal`, join(folder, "kept"));
  await store.close();
  // Killed, and then its file was removed.
  rmSync(real);
  copyFileSync(join(folder, "kept"), `${real}-wal`);

  await assert.rejects(inspectStore(`sqlite:${link}`), /is left of a database that is gone/);
  const opening = openStore(`sqlite:${link}`).then((opened) => opened.close());
  await assert.rejects(opening, /is left of a database that is gone/);
  assert.ok(statSync(`${real}-wal`).size > 0);
  rmSync(`${real}-wal`);
  await (await openStore(`sqlite:${link}`)).close();
});

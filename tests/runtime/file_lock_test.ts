// needs: runtime
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { lockFile } from "../../lib/runtime/file_lock.ts";

const directory = mkdtempSync(join(tmpdir(), "file-lock-"));

describe("lockFile", () => {
  after(() => rmSync(directory, { recursive: true }));

  test("gives the lock to one holder at a time, and returns undefined to other callers", async () => {
    const path = join(directory, "one");
    const first = await lockFile(path);
    assert.ok(first);
    assert.equal(await lockFile(path), undefined);
    assert.equal(await lockFile(path), undefined);
    first.release();
    first.release();
    const second = await lockFile(path);
    assert.ok(second);
    second.release();
  });

  test("creates the file empty and for its owner only", async () => {
    const path = join(directory, "mode");
    const lock = await lockFile(path);
    assert.equal((statSync(path).mode & 0o777).toString(8), "600");
    lock?.release();
    assert.equal(statSync(path).size, 0);
  });

  test("locks of different files are independent", async () => {
    const [one, other] = [await lockFile(join(directory, "a")), await lockFile(join(directory, "b"))];
    assert.ok(one && other);
    one.release();
    other.release();
  });

  test("rejects when the file cannot be created or holds something else", async () => {
    await assert.rejects(lockFile(join(directory, "no", "such")), { code: "ENOENT" });
    writeFileSync(join(directory, "text"), "To whom it may concern. ".repeat(50));
    await assert.rejects(lockFile(join(directory, "text")), /not a database/);
  });
});

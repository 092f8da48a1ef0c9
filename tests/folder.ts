import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";

/** A folder for the tests of a file, or of a `describe`, which is removed after the last of them. */
export function folderForTests(): string {
  const folder = mkdtempSync(join(tmpdir(), "gateway-test-"));
  after(() => rmSync(folder, { recursive: true }));
  return folder;
}

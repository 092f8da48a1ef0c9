import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { environment, sourceCommand } from "../e2e/sandbox_process.ts";

const folder = mkdtempSync(join(tmpdir(), "full-disk-"));
const disk = join(folder, "disk");
mkdirSync(disk);

/** Runs a script in a small disk of its own, which nobody else sees. Answers what it printed, line by line. */
function onSmallDisk(script: string): { lines: string[]; isDone: boolean } {
  const all = `mount -t tmpfs -o size=256k tmpfs "$0" && cd "$0" && echo mounted\n${script}`;
  const [program, ...args] = sourceCommand();
  const { stdout } = spawnSync("unshare", ["--mount", "sh", "-c", all, disk, program!, ...args], {
    encoding: "utf8",
    env: environment(),
  });
  const [first, ...lines] = (stdout ?? "").trimEnd().split("\n");
  return { lines, isDone: first === "mounted" };
}

// A disk can be mounted by root alone, on Linux, and not in every container.
const { isDone: isPossible } = onSmallDisk("");

after(() => rmSync(folder, { recursive: true }));

describe("on a full disk", { skip: !isPossible }, () => {
  test("a keys file keeps what it held, and the disk is named as the trouble", () => {
    const keygen = `"$@" keygen --name shop --scopes read --keys-file keys.json`;
    const { lines } = onSmallDisk(`
      ${keygen} > /dev/null 2>&1; echo $?
      head -c 1M /dev/zero > other 2> /dev/null
      ${keygen} 2>&1; echo $?
      rm other
      "$@" keys list --keys-file keys.json | wc -l`);
    assert.deepEqual([lines[0], lines[2], lines[3]], ["0", "1", "1"], lines.join("\n"));
    assert.match(lines[1]!, /^gateway keygen: keys file \S+ cannot be (locked|written): the disk (is full|cannot be)/);
  });

  for (const scheme of runtimeName === "deno" ? ["sqlite", "deno-kv"] : ["sqlite"]) {
    test(`${scheme}: a store that finds no room leaves nothing behind, and is made when there is room`, () => {
      const keygen = `"$@" keygen --name shop --scopes read --store ${scheme}:gateway.db`;
      const { lines } = onSmallDisk(`
        for kib in 140 200 240 300; do
          head -c \${kib}k /dev/zero > other 2> /dev/null
          ${keygen} 2>&1; echo "$? $(ls -A | tr '\\n' ' ')"
          rm other
        done
        ${keygen} > /dev/null 2>&1; echo "$? $(ls -A | tr '\\n' ' ')"
        "$@" keys list --store ${scheme}:gateway.db 2> /dev/null`);
      assert.equal(lines.length, 4 * 2 + 2, lines.join("\n"));
      for (let n = 0; n < 8; n += 2) {
        assert.match(
          lines[n]!,
          /^gateway keygen: \S+\/gateway\.db: the disk (is full: make room|cannot be .* has room)/,
        );
        assert.equal(lines[n + 1], "1 other ");
      }
      assert.equal(lines[8], "0 gateway.db ");
      assert.match(lines[9]!, /^\w{10}\tshop\tread\t/);
    });
  }
});

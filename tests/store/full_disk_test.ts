import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { smallDisk } from "../cli/small_disk.ts";

const disk = smallDisk("512k");
after(() => disk.remove());

describe("on a full disk", { skip: !disk.isPossible }, () => {
  test("a keys file keeps what it held, and the disk is named as the trouble", () => {
    const keygen = `"$@" keygen --name shop --scopes read --keys-file keys.json`;
    const lines = disk.run(`
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
      const lines = disk.run(`
        for kib in 396 456 496 556; do
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

// needs: runtime
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { isLong } from "../tier.ts";
import { smallDisk } from "../cli/small_disk.ts";

const disk = smallDisk("512k");
after(() => disk.remove());

/** KiB of another file, which leave room for less and less of a new store. */
const TAKEN = isLong ? [396, 456, 496, 556] : [396, 496];

describe("on a full disk", { skip: !disk.isPossible }, () => {
  test("a keys file keeps its contents, and the error names the disk", () => {
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
    test(`${scheme}: a failed creation leaves no file, and a later one succeeds when there is room`, () => {
      const keygen = `"$@" keygen --name shop --scopes read --store ${scheme}:gateway.db`;
      const lines = disk.run(`
        for kib in ${TAKEN.join(" ")}; do
          head -c \${kib}k /dev/zero > other 2> /dev/null
          ${keygen} 2>&1; echo "$? $(ls -A | tr '\\n' ' ')"
          rm other
        done
        ${keygen} > /dev/null 2>&1; echo "$? $(ls -A | tr '\\n' ' ')"
        "$@" keys list --store ${scheme}:gateway.db 2> /dev/null`);
      const refused = 2 * TAKEN.length;
      assert.equal(lines.length, refused + 2, lines.join("\n"));
      for (let n = 0; n < refused; n += 2) {
        const says = /^gateway keygen: \S+\/gateway\.db: the disk (is full, .* Make room|cannot be .* has room)/;
        assert.match(lines[n]!, says);
        assert.equal(lines[n + 1], "1 other ");
      }
      assert.equal(lines[refused], "0 gateway.db ");
      assert.match(lines[refused + 1]!, /^\w{10}\tshop\tread\t/);
    });
  }
});

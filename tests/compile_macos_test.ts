// needs: neutral
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, test } from "node:test";
import { removeSignature } from "../compile/macos.ts";

const X86_64 = 0x01000007;
const ARM64 = 0x0100000c;
const SIGNED_BYTES = 4_096;

const folder = mkdtempSync(join(tmpdir(), "compile-macos-"));

/** A Mach-O file with one segment, which ends with the signature. */
function machO({ cpu = X86_64, isSigned = true } = {}): string {
  const bytes = new Uint8Array(SIGNED_BYTES + (isSigned ? 100 : 0)).fill(0xee, 200);
  const view = new DataView(bytes.buffer);
  const words = [0xfeedfacf, cpu, 3, 2, isSigned ? 2 : 1, isSigned ? 88 : 72, 0, 0];
  words.forEach((word, index) => view.setUint32(4 * index, word, true));
  view.setUint32(32, 0x19, true);
  view.setUint32(36, 72, true);
  bytes.set(new TextEncoder().encode("__LINKEDIT"), 40);
  view.setBigUint64(32 + 40, 1_000n, true);
  view.setBigUint64(32 + 48, BigInt(bytes.length - 1_000), true);
  if (isSigned) [0x1d, 16, SIGNED_BYTES, 100].forEach((word, index) => view.setUint32(104 + 4 * index, word, true));
  const path = join(folder, `${cpu}-${isSigned}`);
  writeFileSync(path, bytes);
  return path;
}

describe("removeSignature", () => {
  after(() => rmSync(folder, { recursive: true }));

  test("restores a file for x86-64 to its content before it was signed", () => {
    const signed = machO();
    assert.equal(removeSignature(signed), true);
    assert.deepEqual(readFileSync(signed), readFileSync(machO({ isSigned: false })));
    assert.equal(removeSignature(signed), false);
  });

  test("does not change a file for arm64, which must be signed, or a file that is not Mach-O", () => {
    for (const path of [machO({ cpu: ARM64 }), join(folder, "other")]) {
      if (path.endsWith("other")) writeFileSync(path, new Uint8Array(64));
      const before = readFileSync(path);
      assert.equal(removeSignature(path), false);
      assert.deepEqual(readFileSync(path), before);
    }
  });
});

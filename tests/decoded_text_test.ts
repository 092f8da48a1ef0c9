// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodedText } from "../lib/decoded_text.ts";

test("decodedText reads UTF-8 with or without a byte order mark, and UTF-16 with one", () => {
  const text = '[{ "id": "kä€" }]';
  const utf16 = (isLittle: boolean) => {
    const bytes = new DataView(new ArrayBuffer(2 * text.length + 2));
    ["\ufeff", ...text].forEach((unit, at) => bytes.setUint16(2 * at, unit.charCodeAt(0), isLittle));
    return new Uint8Array(bytes.buffer);
  };
  const utf8 = new TextEncoder().encode(text);
  for (const bytes of [utf8, new Uint8Array([0xef, 0xbb, 0xbf, ...utf8]), utf16(true), utf16(false)]) {
    assert.equal(decodedText(bytes), text);
  }
  assert.equal(decodedText(new Uint8Array()), "");
});

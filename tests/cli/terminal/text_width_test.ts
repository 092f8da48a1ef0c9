// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, textWidth } from "../../../cli/terminal/text_width.ts";

test("a cut text ends with an ellipsis", () => {
  assert.deepEqual([cut("abcdef", 6), cut("abcdef", 5), cut("abcdef", 0)], ["abcdef", "abcd…", "…"]);
  assert.deepEqual([cut("東京駅前", 8), cut("東京駅前", 7), cut("東京駅前", 6)], ["東京駅前", "東京駅…", "東京…"]);
});

test("a combining mark takes no column, a flag two", () => {
  assert.deepEqual(["Zoe\u0308", "🇨🇭", "🔑", "鍵"].map(textWidth), [3, 2, 2, 2]);
});

test("an emoji of several code points counts as one", () => {
  assert.deepEqual([textWidth("👩‍👩‍👧"), cut("👩‍👩‍👧👩‍👩‍👧", 3)], [2, "👩‍👩‍👧…"]);
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { commandToCopy, errorRoomOf, hanging, roomOf, sentence } from "../../../cli/terminal/line_width.ts";

const ID = "C".padEnd(56, "7");

describe("text behind a head", () => {
  test("is one line when it fits, or when the width is unknown", () => {
    assert.equal(hanging("ok    store   ", "is there", 22), "ok    store   is there");
    assert.equal(hanging("ok    ", "word ".repeat(99), Infinity), `ok    ${"word ".repeat(99)}`);
  });

  test("breaks between words, and continues in its column", () => {
    const three = "ok    store   is\n              there\n              now";
    assert.equal(hanging("ok    store   ", "is there now", 21), three);
    assert.equal(hanging("→ ", "one two three", 9), "→ one two\n  three");
  });

  test("keeps a word whole that is wider than its column", () => {
    const text = hanging("ok    payment escrow       ", `${ID} is there`, 80);
    assert.equal(text, `ok    payment escrow\n${" ".repeat(24)}${ID}\n${" ".repeat(27)}is there`);
    assert.equal(hanging("ok  ", `no ${ID} is`, 40), `ok  no\n${ID}\n    is`);
  });
});

test("a line on a terminal has the terminal's width, and any other line has no limit", () => {
  assert.equal(roomOf({ isTerminal: true, columns: 80 }), 80);
  assert.equal(roomOf({ isTerminal: true }), Infinity);
  assert.equal(roomOf({ isTerminal: false, columns: 80 }), Infinity);
  assert.equal(errorRoomOf({ isErrorTerminal: true, columns: 80 }), 80);
  assert.equal(errorRoomOf({ isErrorTerminal: false, columns: 80 }), Infinity);
});

test("a sentence breaks between words, a command line never does", () => {
  assert.equal(sentence("all of it is queued by now", 20), "all of it is queued\nby now\n");
  assert.equal(commandToCopy("Here:", "gateway trigger", 21), "Here: gateway trigger\n");
  assert.equal(commandToCopy("Here:", "gateway trigger", 20), "Here:\n  gateway trigger\n");
});

// needs: neutral
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { keyColumns } from "../../../cli/keys.ts";
import { type Column, tablePrinter } from "../../../cli/terminal/table.ts";
import { ATTEMPT_COLUMNS, WEBHOOK_COLUMNS } from "../../../cli/webhook_lists.ts";
import { fakeIo } from "../fake_io.ts";

const AT = "2026-11-21T03:44:05.678Z";
const KEY = ["4fJ2kQ9xTz", "the shop in the old town", "read,write,webhooks", "default", "disabled", AT, AT, AT];
const TARGET = "https://shop.example.com/webhooks/stellar/payments";
const HOOKED = "payment.authorized, payment.claimed";
const WEBHOOK = ["wh_2Xk9pQd0fJ2kQ9xTz2Xk9p", "4fJ2kQ9xTz", TARGET, HOOKED, AT, "12", "0", "0", AT];
const EVENT = ["payment.authorized", "0-52000000-17-3-0123456789abcde"];
const ATTEMPT = [AT, "delivered", "503", "10000 ms", "15", ...EVENT, AT, "the connection was refused by 203.0.113.7"];

/** The same columns, of rows that are texts already. */
function ofTexts<T>(columns: readonly Column<T>[]): Column<readonly string[]>[] {
  return columns.map((column, index) => ({ ...column, text: (row) => row[index]! }));
}

const KEY_TABLE = ofTexts(keyColumns(0));
const WEBHOOK_TABLE = ofTexts(WEBHOOK_COLUMNS);
const ATTEMPT_TABLE = ofTexts(ATTEMPT_COLUMNS);

const TABLES = [
  ["keys", KEY_TABLE, KEY],
  ["webhooks", WEBHOOK_TABLE, WEBHOOK],
  ["attempts", ATTEMPT_TABLE, ATTEMPT],
] as const;

function printed(columns: typeof KEY_TABLE, row: readonly string[], room?: number): string[] {
  const io = fakeIo({ isTerminal: room !== 0, columns: room === 0 ? undefined : room });
  tablePrinter(io, columns)([row]);
  return io.out.trimEnd().split("\n");
}

describe("a table", () => {
  for (const [what, columns, row] of TABLES) {
    for (const room of [80, 100, 120, 200]) {
      test(`of ${what} fits a terminal of ${room} columns, and cuts no date`, () => {
        const [head, line] = printed(columns, row, room);
        for (const text of [head!, line!]) assert.ok([...text].length <= room, text);
        const dates = line!.match(/20\d\d-\S*(?: \d\d:\S*)?/g) ?? [];
        assert.equal(dates.length, head!.match(/\b(AT|NEXT|CREATED|EXPIRES|LAST USED|FAILING SINCE)\b/g)?.length ?? 0);
        for (const date of dates) assert.match(date, /^2026-11-21( 03:44(:05)?)?$/);
      });
    }

    test(`of ${what} is complete when the width is unknown, and separated by tabs outside a terminal`, () => {
      const [head, line] = printed(columns, row);
      for (const { heading } of columns) assert.ok(head!.includes(heading));
      assert.ok(line!.includes("2026-11-21 03:44"));
      assert.deepEqual(printed(columns, row, 0), [row.join("\t")]);
    });
  }

  const names = [
    ["letters that take two columns each", "東京駅前の本店"],
    ["more of them than fit", "東京駅前の本店で使うための鍵東京駅前の本店"],
    ["emoji", "🔑 shop"],
    ["accents of their own", "Cafe\u0301 Zoe\u0308"],
  ] as const;
  for (const [what, name] of names) {
    test(`with ${what} fits a terminal and stays in columns`, () => {
      const row = KEY.map((text, index) => index === 1 ? name : text);
      const taken = (text: string) =>
        [...text.replace(/\p{M}/gu, "")].length + (text.match(/[🔑\p{Lo}]/gu) ?? []).length;
      for (const room of [80, 100, 120, 200]) {
        const [head = "", line = ""] = printed(KEY_TABLE, row, room);
        const [nameAt, scopesAt] = [head.indexOf("NAME"), head.indexOf("SCOPES")];
        assert.ok(taken(line) <= room, line);
        assert.equal(taken(line.slice(0, line.indexOf("read,write"))), scopesAt, line);
        assert.equal(line.includes(name), taken(name) <= scopesAt - nameAt - 2, line);
      }
    });
  }

  test("keeps whole ids, and both ends of a URL", () => {
    for (const room of [80, 100]) {
      const [, line] = printed(WEBHOOK_TABLE, WEBHOOK, room);
      assert.match(line!, /^wh_2Xk9pQd0fJ2kQ9xTz2Xk9p .*https:\/\/shop\S*…\S*ents /);
    }
  });

  test("of attempts never cuts or drops the type, and shows the error unless the terminal is tiny", () => {
    for (let room = 40; room <= 200; room++) {
      const [head = "", line = ""] = printed(ATTEMPT_TABLE, ATTEMPT, room);
      assert.ok(head.includes("TYPE"), head);
      assert.equal(line.indexOf("payment.authorized"), head.indexOf("TYPE"), line);
      if (room >= 80) assert.ok(head.includes("ERROR") && line.includes("the connection"), line);
      if (room >= 50) assert.ok([...line].length <= room, line);
    }
  });

  test("has one heading for all pages", () => {
    const io = fakeIo({ isTerminal: true });
    const print = tablePrinter(io, KEY_TABLE);
    print([KEY]);
    print([KEY, KEY]);
    assert.equal(io.out.match(/^ID/gm)?.length, 1);
    assert.equal(io.out.trimEnd().split("\n").length, 4);
  });
});

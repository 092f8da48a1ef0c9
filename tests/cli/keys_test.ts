// needs: neutral
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, test } from "node:test";
import { command } from "../../cli/keys.ts";
import { mintKey } from "../../lib/keys/api_key.ts";
import { openKeysFile } from "../../lib/keys/keys_file.ts";
import { openStore } from "../../lib/store/open.ts";
import type { KeyRecord } from "../../lib/store/store.ts";
import { fakeIo, type FakeIoOptions } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { folderForTests } from "../folder.ts";

const NOW = Date.parse("2026-03-01T12:00:00.000Z");
const random = (length: number) => crypto.getRandomValues(new Uint8Array(length));

const folder = folderForTests();
let count = 0;
let shop: KeyRecord;
let till: KeyRecord;
/** The same keys in each kind of place, with the flags that name it. */
let places: { flags: string[]; location: string }[];

beforeEach(async () => {
  const made = { now: NOW, random };
  shop = { ...mintKey({ ...made, name: "shop", scopes: ["read", "write"], rate: 600 }).record, id: "aShop" };
  till = {
    ...mintKey({ ...made, name: "till", scopes: ["webhooks"], expiresAt: "2026-04-01" }).record,
    id: "bTill",
    lastUsedAt: "2026-02-28T10:11:12.000Z",
  };
  const path = join(folder, `keys${count}.json`);
  const setting = `sqlite:${join(folder, `gateway${count++}.db`)}`;
  places = [
    { flags: ["--store", setting], location: setting },
    { flags: ["--keys-file", path], location: `file:${path}` },
  ];
  const store = await openStore(setting);
  for (const record of [shop, till]) {
    await store.keys.insert(record);
    await openKeysFile(path).keys.insert(record);
  }
  await store.close();
});

async function keys(args: string[], options: FakeIoOptions = {}) {
  const io = fakeIo({ now: NOW, ...options });
  const code = await runCommand(command, args, io);
  for (const { hash } of [shop, till]) assert.ok(!(io.out + io.err).includes(hash), "a hash was printed");
  return { code, out: io.out, err: io.err };
}

/** Runs a check in the store and in the keys file. */
async function inEachPlace(check: (flags: string[], location: string) => Promise<void>): Promise<void> {
  for (const { flags, location } of places) await check(flags, location);
}

const TILL_JSON = {
  ...{ id: "bTill", name: "till", scopes: ["webhooks"], rate: null, disabled: false },
  ...{ createdAt: "2026-03-01T12:00:00.000Z", expiresAt: "2026-04-01T00:00:00.000Z" },
  lastUsedAt: "2026-02-28T10:11:12.000Z",
};

describe("keys list", () => {
  test("prints columns with tabs outside a terminal, and names the place of the keys", () =>
    inEachPlace(async (flags, location) => {
      const { code, out, err } = await keys(["list", ...flags]);
      assert.equal(code, 0);
      assert.equal(
        out,
        "aShop\tshop\tread,write\t600\tenabled\t2026-03-01T12:00:00.000Z\tnever\tnever\n" +
          "bTill\ttill\twebhooks\tdefault\tenabled\t2026-03-01T12:00:00.000Z\t2026-04-01T00:00:00.000Z\t" +
          "2026-02-28T10:11:12.000Z\n",
      );
      assert.equal(err, `keys in ${location}\n`);
    }));

  test("prints an aligned table on a terminal", async () => {
    const { out } = await keys(["list", ...places[0]!.flags], { isTerminal: true });
    const [head, first, second] = out.split("\n");
    assert.match(head!, /^ID +NAME +SCOPES +RATE +STATE +CREATED +EXPIRES +LAST USED$/);
    assert.match(first!, /^aShop +shop +read,write +600 +enabled +2026-03-01 12:00 +never +never$/);
    assert.equal(head!.indexOf("SCOPES"), first!.indexOf("read,write"));
    assert.equal(head!.indexOf("LAST USED"), second!.indexOf("2026-02-28 10:11"));
  });

  test("prints a line of JSON for each key with --json", async () => {
    const { out, err } = await keys(["list", "--json", ...places[0]!.flags]);
    assert.deepEqual(JSON.parse(out.split("\n")[1]!), TILL_JSON);
    assert.equal(err, "");
  });

  test("shows whether a key is disabled or expired", async () => {
    const { flags } = places[0]!;
    await keys(["disable", "aShop", ...flags]);
    const { out } = await keys(["list", ...flags], { now: Date.parse("2026-04-01") });
    assert.deepEqual(out.trimEnd().split("\n").map((line) => line.split("\t")[4]), ["disabled", "expired"]);
  });

  test("reports an empty list, and how to create a key", async () => {
    const flags = ["--store", `sqlite:${join(folder, "empty.db")}`];
    await (await openStore(flags[1]!)).close();
    const { code, out, err } = await keys(["list", ...flags], { isTerminal: true });
    assert.equal(code, 0);
    assert.equal(out, "");
    assert.match(err, /no keys; create one with gateway keygen/);
  });

  test("prints only the cause when the place cannot be read", async () => {
    const path = join(folder, "broken.json");
    await writeFile(path, "{");
    for (const isTerminal of [false, true]) {
      const { code, out, err } = await keys(["list", "--keys-file", path], { isTerminal });
      assert.deepEqual([code === 0, out, err.startsWith("gateway keys: ")], [false, "", true]);
    }
  });

  test("reads many keys by pages", async () => {
    const { flags, location } = places[0]!;
    const store = await openStore(location);
    for (let i = 0; i < 1_010; i++) await store.keys.insert({ ...shop, id: `k${String(i).padStart(4, "0")}` });
    await store.close();
    const { out } = await keys(["list", ...flags], { isTerminal: true });
    const ids = out.trimEnd().split("\n").map((line) => line.split(" ")[0]);
    assert.equal(ids.length, 1 + 1_012);
    assert.deepEqual([ids[0], ids[1], ids[3], ids.at(-1)], ["ID", "aShop", "k0000", "k1009"]);
    assert.equal(new Set(ids).size, ids.length);
  });
});

describe("keys show", () => {
  test("prints one key in full", () =>
    inEachPlace(async (flags, location) => {
      const { code, out } = await keys(["show", "bTill", ...flags]);
      assert.equal(code, 0);
      assert.match(out, /^id +bTill\nname +till\nscopes +webhooks\nrate +default\nstate +enabled\n/);
      assert.ok(out.endsWith(`stored in    ${location}\n`));
      assert.deepEqual(JSON.parse((await keys(["show", "bTill", "--json", ...flags])).out), TILL_JSON);
    }));
});

describe("keys disable and enable", () => {
  test("change the key and report it", () =>
    inEachPlace(async (flags, location) => {
      assert.equal((await keys(["disable", "aShop", ...flags])).out, `disabled key aShop "shop" in ${location}\n`);
      assert.equal(JSON.parse((await keys(["show", "aShop", "--json", ...flags])).out).disabled, true);
      assert.equal((await keys(["enable", "aShop", ...flags])).out, `enabled key aShop "shop" in ${location}\n`);
      assert.equal(JSON.parse((await keys(["disable", "aShop", "--json", ...flags])).out).disabled, true);
    }));

  test("report that nothing has changed", () =>
    inEachPlace(async (flags, location) => {
      const again = await keys(["enable", "aShop", ...flags]);
      assert.deepEqual([again.code, again.out], [0, `key aShop "shop" in ${location} is already enabled\n`]);
      await keys(["disable", "aShop", ...flags]);
      assert.match((await keys(["disable", "aShop", ...flags])).out, /is already disabled/);
    }));
});

describe("keys enable", () => {
  test("warns that an expired key stays refused", () =>
    inEachPlace(async (flags) => {
      const expired = { now: Date.parse("2026-04-01") };
      assert.equal((await keys(["enable", "bTill", ...flags])).err, "");
      await keys(["disable", "bTill", ...flags]);
      assert.match((await keys(["enable", "bTill", ...flags], expired)).err, /expired at 2026-04-01T.* gateway keygen/);
      assert.match((await keys(["enable", "bTill", ...flags], expired)).err, /expired at 2026-04-01T.* gateway keygen/);
      assert.equal((await keys(["disable", "bTill", ...flags], expired)).err, "");
    }));
});

describe("keys delete", () => {
  test("deletes with --yes, without a question", () =>
    inEachPlace(async (flags, location) => {
      const { code, out } = await keys(["delete", "aShop", "--yes", ...flags]);
      assert.equal(code, 0);
      assert.equal(out, `deleted key aShop "shop" from ${location}\n`);
      assert.equal((await keys(["show", "aShop", ...flags])).code, 1);
      assert.equal((await keys(["show", "bTill", ...flags])).code, 0);
    }));

  test("asks on a terminal, and follows the answer", async () => {
    const { flags } = places[0]!;
    const no = await keys(["delete", "aShop", ...flags], { isTerminal: true, answer: "" });
    assert.equal(no.code, 1);
    assert.match(no.err, /Delete key aShop "shop" from .*\[y\/N\] gateway keys: nothing was deleted/);
    assert.equal((await keys(["show", "aShop", ...flags])).code, 0);
    assert.equal((await keys(["delete", "aShop", ...flags], { isTerminal: true, answer: "Yes" })).code, 0);
    assert.equal((await keys(["show", "aShop", ...flags])).code, 1);
  });

  test("needs --yes where there is no terminal", async () => {
    const refused = { name: "UsageError", message: /needs --yes where there is no terminal/ };
    await assert.rejects(keys(["delete", "aShop", ...places[0]!.flags]), refused);
  });
});

describe("keys", () => {
  test("names an unknown key and the place", () =>
    inEachPlace(async (flags, location) => {
      for (const args of [["show", "x"], ["enable", "x"], ["disable", "x"], ["delete", "x", "--yes"]]) {
        const { code, out, err } = await keys([...args, ...flags]);
        assert.deepEqual([code, out, err], [1, "", `gateway keys: there is no key "x" in ${location}\n`]);
      }
    }));

  test("creates no missing place, and names the command that does", async () => {
    for (const [flag, name] of [["--store", "sqlite:missing.db"], ["--keys-file", "missing.json"]] as const) {
      const path = join(folder, name.replace("sqlite:", ""));
      const place = [flag, name.startsWith("sqlite:") ? `sqlite:${path}` : path];
      for (const args of [["list"], ["show", "x"], ["enable", "x"], ["disable", "x"], ["delete", "x", "--yes"]]) {
        const { code, out, err } = await keys([...args, ...place]);
        assert.deepEqual([code, out], [1, ""]);
        assert.match(err, /^gateway keys: .*(there is no store yet|does not exist).*gateway keygen.*\n$/);
        assert.ok(err.includes(path) && err.includes(flag), err);
      }
      assert.ok(!existsSync(path) && !existsSync(`${path}.lock`));
    }
  });

  const wrong: [string, string[], RegExp][] = [
    ["nothing", [], /expected one of list, show, enable, disable, delete; got nothing/],
    ["an unknown action", ["remove", "a"], /expected one of .*; got "remove"/],
    ["an action from the prototype", ["toString"], /expected one of .*; got "toString"/],
    ["no id", ["show"], /^ID is missing: pass the id of a key \(keys list shows the ids\)$/],
    ["an id for list", ["list", "a"], /unexpected "a" after keys list/],
    ["two ids", ["show", "a", "b"], /unexpected "b" after keys show/],
    ["--yes elsewhere", ["disable", "a", "--yes"], /--yes is only for delete; got disable/],
    ["an unknown flag", ["list", "--all"], /unknown flag --all; allowed: --store, --keys-file, --yes, --json/],
  ];
  for (const [what, args, message] of wrong) {
    test(`refuses ${what}`, () => assert.rejects(keys(args), { name: "UsageError", message }));
  }
});

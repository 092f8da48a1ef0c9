// needs: runtime
import assert from "node:assert/strict";
import { join, relative } from "node:path";
import { describe, test } from "node:test";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import { storeError } from "./samples.ts";
import { folderForTests } from "../folder.ts";

const directory = folderForTests();

describe("openStore", () => {
  test("makes a relative path absolute in the location", async () => {
    const path = join(directory, "relative.db");
    const store = await openStore(`sqlite:${relative(".", path)}`);
    assert.equal(store.location, `sqlite:${path}`);
    await store.close();
  });

  test("accepts a path with spaces, colons, question marks and percent signs unchanged", async () => {
    const path = join(directory, "a b:c?mode=memory%20#d.db");
    const store = await openStore(`sqlite:${path}`);
    assert.equal(store.location, `sqlite:${path}`);
    await store.network.bind("n");
    await store.close();
    const again = await openStore(`sqlite:${path}`);
    assert.equal(await again.network.bound(), "n");
    await again.close();
  });

  test("two memory stores share nothing", async () => {
    const [one, other] = [await openStore("memory:"), await openStore("memory:")];
    await one.network.bind("n");
    assert.equal(await other.network.bound(), undefined);
    await one.holdForServing();
    await other.holdForServing();
    await one.close();
    await other.close();
  });

  const wrong = ["", "sqlite", "sqlite:", "gateway.db", "/var/lib/gateway.db", "memory:x", "kv:x", "SQLITE:x"];
  for (const setting of wrong) {
    test(`refuses "${setting}", with the allowed settings`, async () => {
      const allowed = "sqlite:PATH, deno-kv:PATH, deno-kv:, postgres://… or memory:";
      await assert.rejects(openStore(setting), storeError("unavailable", allowed));
    });
  }

  const urls: [setting: string, meant: string][] = [
    ["sqlite::memory:", "A store in memory is memory:"],
    ["sqlite://gateway.db", "Write sqlite:gateway.db instead"],
    ["sqlite:///var/lib/gateway.db", "Write sqlite:/var/lib/gateway.db instead"],
  ];
  for (const [setting, meant] of urls) {
    test(`refuses "${setting}", and suggests the intended form`, async () => {
      await assert.rejects(openStore(setting), storeError("unavailable", meant));
    });
  }

  test("does not repeat a URL, which may hold a password", async () => {
    await assert.rejects(openStore("mysql://user:hunter2@host/db"), (error: Error) => {
      assert.match(error.message, /got "mysql:…"$/);
      return true;
    });
  });

  if (runtimeName === "bun") {
    test("rejects deno-kv: on Bun, and names what to use", async () => {
      for (const setting of ["deno-kv:", "deno-kv:gateway.kv"]) {
        await assert.rejects(openStore(setting), storeError("unavailable", "deno-kv: needs Deno", "sqlite:PATH"));
      }
    });
  }
});

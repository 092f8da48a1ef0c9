// needs: once
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, test } from "node:test";
import { command } from "../../../cli/doctor/doctor.ts";
import { openSqlite } from "../../../lib/runtime/sqlite.ts";
import { append, sampleEvent, sampleKey } from "../../store/samples.ts";
import { fakeIo } from "../fake_io.ts";
import { doctorOfFile, says } from "./stage.ts";

const doctor = doctorOfFile();

/** The setting of a store that opens, but whose table of this name is damaged. */
async function damagedStore(table: string): Promise<string> {
  const setting = await doctor.storeWith(async (store) => {
    await store.keys.insert(sampleKey("a"));
    await append(store, sampleEvent(1, { type: "device.registered" }));
  });
  const file = setting.slice("sqlite:".length);
  const database = await openSqlite(file);
  const { rootpage } = database.prepare<{ rootpage: number }>(
    `SELECT rootpage FROM sqlite_schema WHERE name = '${table}'`,
  ).get()!;
  const { page_size } = database.prepare<{ page_size: number }>("PRAGMA page_size").get()!;
  database.close();
  const begin = (rootpage - 1) * page_size;
  writeFileSync(file, readFileSync(file).fill(0xff, begin, begin + page_size));
  return setting;
}

/** The checks that read each table. */
const CHECKS = {
  api_key: ["api keys"],
  secrets_check: ["webhook secrets"],
  watcher: ["history"],
  event: ["reads", "movements"],
};

describe("doctor: a store that is damaged", () => {
  for (const [table, checks] of Object.entries(CHECKS)) {
    test(`in its table ${table} is a finding, and the other checks run`, async () => {
      const found = await doctor.examined({ store: await damagedStore(table) });
      const failed = found.filter(({ verdict }) => verdict === "fail");
      assert.deepEqual(failed.map(({ check }) => check), checks);
      for (const finding of failed) says(finding, "fail", /is damaged: restore a backup/);
      assert.equal(found.at(-1)!.check, "books");
    });
  }

  test("as a whole, or without its main file, does not blame settings or file owner", async () => {
    const damaged = doctor.newPath();
    writeFileSync(damaged, "no database ".repeat(1_000));
    const gone = doctor.newPath();
    writeFileSync(`${gone}-wal`, "its last changes");
    for (const path of [damaged, gone]) {
      says(
        await doctor.finding("store", { store: `sqlite:${path}` }),
        "fail",
        /name another|Restore that/,
        /^follow the message/,
      );
    }
  });

  test("is reported as JSON, too", async () => {
    const io = fakeIo();
    const args = ["--json", "--store", await damagedStore("api_key"), "--rpc-url", "http://127.0.0.1:1", "--port", "0"];
    assert.equal(await command.run(args, io), 1);
    const { ok, checks } = JSON.parse(io.out);
    assert.equal(ok, false);
    says(checks.find(({ check }: { check: string }) => check === "api keys"), "fail", /is damaged/);
  });
});

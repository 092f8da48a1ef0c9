// needs: once
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { command } from "../../cli/store.ts";
import { openStore } from "../../lib/store/open.ts";
import { findPostgres } from "../store/postgres_programs.ts";
import { createDatabase, type SharedDatabase } from "../store/postgres_shared.ts";
import { sampleKey } from "../store/samples.ts";
import { fakeIo } from "./fake_io.ts";
import { runCommand } from "./run_command.ts";
import { storeBeside } from "./store_beside.ts";

const programs = findPostgres();
const beside = storeBeside((store) => store.keys.insert(sampleKey("a")));

describe("store copy to PostgreSQL", () => {
  if (programs === undefined) return void test("is not on this machine", { skip: true });
  let postgres: SharedDatabase;
  before(async () => {
    postgres = await createDatabase(programs);
  });
  after(() => postgres.remove());

  test("prints a command that serves from the copy, with its user and parameters", async () => {
    const to = postgres.setting({ schema: "copied", pool: "3" });
    const io = fakeIo();
    assert.equal(await runCommand(command, ["copy", beside.setting, to], io), 0, io.err);
    const named = /: gateway serve --store '([^']+)'\n$/.exec(io.out)?.[1];
    assert.equal(named, to);
    const copied = await openStore(named, { mustExist: true });
    assert.equal(copied.id, beside.store.id);
    await copied.close();
  });

  test("shows no password of a variable, and names where to put it", async () => {
    const to = postgres.setting({ schema: "moved" });
    const io = fakeIo({ env: { MOVED_TO: to.replace("@", ":hush@") } });
    assert.equal(await runCommand(command, ["copy", beside.setting, "env:MOVED_TO"], io), 0, io.err);
    assert.ok(io.out.endsWith(`: gateway serve --store '${to}', with its password in PGPASSWORD\n`), io.out);
    assert.ok(!`${io.out}${io.err}`.includes("hush"));
  });
});

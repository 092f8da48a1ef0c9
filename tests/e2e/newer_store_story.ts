import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { openStore } from "../../lib/store/open.ts";
import { asArguments, flagsFor, runGateway, type SandboxInfo } from "./sandbox_process.ts";

/** Every command except `backup` refuses a store that a newer program has written. Runs on the sources and the executable. */
export async function tellNewerStore(info: SandboxInfo, command: string[], folder: string): Promise<void> {
  const path = join(mkdtempSync(join(folder, "newer-")), "gateway.db");
  await (await openStore(`sqlite:${path}`)).close();
  const database = await openSqlite(path);
  database.exec("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  const bytes = readFileSync(path);
  const store = `sqlite:${path}`;
  const says = new RegExp(`${store} was written by a newer version of this program \\(schema 99, .*: run that version`);
  const serve = ["serve", ...asArguments(flagsFor(info, { store }))];
  for (
    const args of [
      serve,
      ["keygen", "--name", "late", "--scopes", "read", "--store", store],
      ["keys", "list", "--store", store],
    ]
  ) {
    const refused = await runGateway(args, {}, command);
    assert.deepEqual([args[0], refused.code, refused.stdout], [args[0], 2, ""]);
    assert.match(refused.stderr, says);
    assert.equal(refused.stderr.trimEnd().split("\n").length, 1, refused.stderr);
  }
  const { code, stdout } = await runGateway(["doctor", ...serve.slice(1)], {}, command);
  assert.equal(code, 1);
  assert.match(stdout, /^fail {2}store .* newer version .*\n +→ run the newer version, or start with a backup/m);
  assert.deepEqual(readFileSync(path), bytes, "not a byte of it has changed");
}

// needs: neutral
import assert from "node:assert/strict";
import { mkdirSync, renameSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { createMaintenance } from "../../lib/gateway/maintenance.ts";
import { createLog } from "../../lib/log.ts";
import type { AskDisk } from "../../lib/store/file/file_watch.ts";
import { folderForTests } from "../folder.ts";

const folder = folderForTests();

function stage(location: string, askDisk?: AskDisk) {
  const lines: string[] = [];
  const log = createLog({ level: "debug", format: "json", now: () => 0, write: (line) => lines.push(line) });
  return { lines, maintenance: createMaintenance({ store: { location }, log, askDisk }) };
}

test("the log reports a removed or replaced store file once, and the store recovers when the file is back", () => {
  const path = join(folder, "gateway.db");
  writeFileSync(path, "store");
  const { maintenance, lines } = stage(`sqlite:${path}`);
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), false);
  renameSync(path, `${path}.away`);
  maintenance.look();
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), true);
  assert.match(maintenance.troubles()[0]!, /^the file of sqlite:.* was removed: all further writes are lost/);
  assert.equal(lines.filter((line) => /"level":"error"/.test(line)).length, 1);
  writeFileSync(path, "another file of this name");
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), true);
  renameSync(`${path}.away`, path);
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), false);
  assert.ok(lines.some((line) => line.includes("the store's file is back")));
});

test("the log reports a removed store folder like a removed file, and reports no disk problem", () => {
  const data = join(folder, "data");
  mkdirSync(data);
  writeFileSync(join(data, "gateway.db"), "store");
  const askDisk = (path: string) => ({ ...statfsSync(path), bavail: 1_000_000_000 });
  const { maintenance, lines } = stage(`sqlite:${join(data, "gateway.db")}`, askDisk);
  maintenance.look();
  renameSync(data, `${data}.away`);
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), true);
  assert.equal(maintenance.troubles().length, 1);
  renameSync(`${data}.away`, data);
  maintenance.look();
  assert.equal(maintenance.isStoreGone(), false);
  assert.equal(lines.length, 2);
});

test("the log reports an almost full disk once, and once when it has room; meanwhile the disk is a problem in troubles()", () => {
  const path = join(folder, "on-a-full-disk.db");
  writeFileSync(path, "store");
  let freeMegabytes = 5_000;
  const askDisk = () => ({ bavail: freeMegabytes * 1_000, blocks: 1_000_000_000, bsize: 1_000 });
  const { maintenance, lines } = stage(`sqlite:${path}`, askDisk);
  const reported = () => lines.map((line) => JSON.parse(line)).map(({ level, message }) => [level, message]);
  maintenance.look();
  assert.deepEqual([reported(), maintenance.troubles()], [[], []]);
  freeMegabytes = 1_999;
  maintenance.look();
  freeMegabytes = 1_500;
  maintenance.look();
  const low = `the disk of sqlite:${path} is almost full: 1999 MB are left`;
  assert.deepEqual([reported(), maintenance.troubles()], [[["warn", low]], [low]]);
  assert.match(lines[0]!, /make room, or store events for a shorter time/);
  assert.equal(maintenance.isStoreGone(), false, "what is written is still kept");
  freeMegabytes = 2_000;
  maintenance.look();
  maintenance.look();
  assert.deepEqual(reported().slice(1), [["info", "the store's disk has room again"]]);
  assert.deepEqual(maintenance.troubles(), []);
});

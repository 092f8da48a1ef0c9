// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { openSqlite } from "../../lib/runtime/sqlite.ts";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import { folderForTests } from "../folder.ts";
import { forTier } from "../tier.ts";
import { insert, subscriptionOf } from "../webhooks/parts.ts";
import { afterPowerLoss, type FileOperation, readOperations } from "./lost_writes.ts";
import { seededRandom } from "./seeded_random.ts";
import { endedOf } from "../store/webhook_samples.ts";

/** The number of power losses: `FAULT_POWER_LOSSES=20000` takes minutes. */
const LOSSES = Number(process.env.FAULT_POWER_LOSSES ?? forTier({ test: 30, all: 60 }));
const SEED = Number(process.env.FAULT_SEED ?? Date.now() % 1_000_000);
const ROUNDS = 300;

const folder = realpathSync(folderForTests());
const shim = join(folder, "record_writes.so");
const source = new URL("./record_writes.c", import.meta.url).pathname;
const isPossible = process.platform === "linux" &&
  spawnSync("cc", ["-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl"]).status === 0;

/** Records every write of a process to a store; returns the store's file from before, and the recorded operations. */
async function recorded(): Promise<{ before: Uint8Array; operations: FileOperation[]; file: string }> {
  const disk = join(folder, "disk");
  mkdirSync(disk);
  const file = join(disk, "gateway.db");
  const store = await openStore(`sqlite:${file}`);
  await insert(store, subscriptionOf("wh_1"));
  await store.close();
  const before = readFileSync(file);
  const log = join(folder, "log");
  const program = new URL("./power_loss_process.ts", import.meta.url).pathname;
  const run = runtimeName === "deno" ? ["run", "-A", "--no-check", program] : [program];
  const env = { ...process.env, LD_PRELOAD: shim, WRITES_OF: `${disk}/`, WRITES_LOG: log };
  const { signal, stderr } = spawnSync(process.execPath, [...run, `sqlite:${file}`, disk, String(ROUNDS)], { env });
  assert.equal(signal, "SIGKILL", stderr.toString());
  return { before, operations: readOperations(readFileSync(log)), file };
}

/** The newest acknowledged event and cursor in these operations. */
function acknowledged(operations: FileOperation[]): { last: number; cursor: number } {
  const note = operations.findLast(({ path }) => path.endsWith("/acknowledged"));
  const [last = 0, cursor = 0] = note === undefined ? [] : new TextDecoder().decode(note.bytes).split(" ").map(Number);
  return { last, cursor };
}

/** Returns the problem of the store on this disk; undefined without a problem. */
async function troubleWith(path: string, owed: { last: number; cursor: number }): Promise<string | undefined> {
  const database = await openSqlite(path);
  const { integrity_check: found } = database.prepare<{ integrity_check: string }>("PRAGMA integrity_check").get()!;
  database.close();
  if (found !== "ok") return `damaged: ${found}`;
  const store = await openStore(`sqlite:${path}`, { mustExist: true });
  try {
    const { last } = await store.events.bounds();
    const { cursor, rejected } = (await store.deliveries.consumer("wh_1"))!.progress;
    if (last < owed.last || cursor < owed.cursor) return `lost: ${last} of ${owed.last}, ${cursor} of ${owed.cursor}`;
    if (cursor > last) return `the cursor ${cursor} is past the end of the log ${last}`;
    const events = await store.events.read({ filter: {}, after: Math.max(0, last - 900), order: "asc", limit: 1_000 });
    if (events.length !== Math.min(last, 900)) return `${events.length} events up to ${last}`;
    const ended = await endedOf(store, { subscriptionId: "wh_1", limit: 1 });
    if (rejected > 0 && ended[0]!.delivery.sequence !== cursor) return "the cursor and what failed are of two commits";
    return undefined;
  } finally {
    await store.close();
  }
}

describe("after a power loss", { skip: isPossible ? false : "needs Linux and a C compiler" }, () => {
  async function troubles(losses: number, all: FileOperation[], before: Uint8Array, file: string): Promise<string[]> {
    const found: string[] = [];
    for (let loss = 0; loss < losses; loss++) {
      const random = seededRandom(SEED + loss);
      const done = all.slice(0, Math.floor(random.between(0, all.length + 1)));
      const share = random.pick([0, 0.1, 0.5, 0.9, 1]);
      const disk = join(folder, `after-${loss}`);
      mkdirSync(disk);
      const of = (path: string) => done.filter((operation) => operation.path === path);
      const rebuilt = (path: string, was: Uint8Array) => afterPowerLoss(was, of(path), () => random.next() < share);
      writeFileSync(join(disk, "gateway.db"), rebuilt(file, before));
      if (of(`${file}-wal`).length > 0) {
        writeFileSync(join(disk, "gateway.db-wal"), rebuilt(`${file}-wal`, new Uint8Array()));
      }
      const trouble = await troubleWith(join(disk, "gateway.db"), acknowledged(done)).catch(String);
      if (trouble !== undefined) found.push(`FAULT_SEED=${SEED + loss} FAULT_POWER_LOSSES=1: ${trouble}`);
      rmSync(disk, { recursive: true });
    }
    return found;
  }

  test("a sqlite store opens, and contains every acknowledged write", async () => {
    const { before, operations, file } = await recorded();
    const counts = Map.groupBy(operations, ({ kind, path }) => `${kind} ${path.slice(file.length - 10)}`);
    assert.ok(operations.filter(({ kind }) => kind === "sync").length >= 2 * ROUNDS, [...counts.keys()].join());
    assert.ok(operations.some(({ kind, path }) => kind === "write" && path === file), "nothing was checkpointed");
    assert.deepEqual(await troubles(LOSSES, operations, before, file), []);
    // Control: the test detects a disk that ignores sync and so loses acknowledged writes.
    const lying = operations.filter(({ kind }) => kind !== "sync");
    assert.notDeepEqual(await troubles(Math.min(LOSSES, 60), lying, before, file), []);
  });
});

import { setImmediate as yieldToOthers } from "node:timers/promises";
import { sleep, type Wait } from "../../clock.ts";
import type { Kv, KvAtomic, KvListSelector } from "../../runtime/kv.ts";
import { openSqlite } from "../../runtime/sqlite.ts";
import { migrateWithCopy, type OnNotice } from "../file/migration_copy.ts";
import { holdStoreFile } from "../file/store_file.ts";
import { StoreError } from "../store.ts";
import { moveEvents, moveForgotten, moveUndecoded, moveWatcherState } from "./event_migration.ts";
import { FORMER_PREFIXES, formerRange, SHARED_PREFIXES } from "./former_schema.ts";
import { collect, commit, holdsAtMost } from "./io.ts";
import { MIGRATION, type MigrationEntry, newStoreId, SCHEMA, SCHEMA_VERSION, STORE_ID } from "./schema.ts";
import { moveAttempts, moveDeliveries, moveSubscriptions, removeOfDeleted } from "./webhook_migration.ts";

export interface MigrationParts {
  kv: Kv;
  /** Absent: the platform's own database. */
  file: string | undefined;
  location: string;
  onNotice?: OnNotice;
  wait?: Wait;
}

/**
 * Moves some of what it finds of then into its new place, as writes of one commit: a program that is killed leaves nothing
 * half moved, and the next one goes on. False when nothing of its kind is left. May change the entry.
 */
export type Step = (kv: Kv, atomic: KvAtomic, entry: MigrationEntry) => Promise<boolean>;

/** How often to look whether another process has come to the end of it. */
const LOOK_MS = 50;

const REMOVED_PER_COMMIT = 250;

/** Whether a store of ours holds what an older program left in it, all or the rest. */
export async function isOutdated(kv: Kv): Promise<boolean> {
  const [schema, migration] = await kv.getMany<[number, MigrationEntry]>([SCHEMA, MIGRATION]);
  return schema.value !== SCHEMA_VERSION || migration.value !== null;
}

/**
 * Brings a store to the newest schema. First its number is raised, so that no older program touches it any more, and a
 * file is kept as it was beside it; then it goes on from wherever it stands until all is moved.
 *
 * @throws StoreError `locked` while a gateway serves from the file, `full`
 */
export async function migrate(parts: MigrationParts): Promise<void> {
  const { kv, file, location, wait = sleep } = parts;
  while (await isOutdated(kv)) {
    await begin(parts);
    const lock = file === undefined ? undefined : await holdStoreFile(file, location).catch(unlessLocked);
    if (lock === "locked") {
      // Whoever is at it comes to an end, or dies.
      await wait(LOOK_MS);
      continue;
    }
    try {
      await moveAll(kv);
    } finally {
      lock?.release();
    }
  }
}

function unlessLocked(error: unknown): "locked" {
  if (error instanceof StoreError && error.kind === "locked") return "locked";
  throw error;
}

async function begin({ kv, file, location, ...options }: MigrationParts): Promise<void> {
  const schema = await kv.get<number>(SCHEMA);
  const from = schema.value!;
  if (from === SCHEMA_VERSION) return;
  // Of several who do this at once one succeeds, and nothing else is to be done.
  const raise = async (keepCopy = () => {}) => {
    // Before: after it nobody would give the copy its name where this is killed.
    keepCopy();
    await commit(
      kv.atomic().check(schema).set(SCHEMA, SCHEMA_VERSION).set(MIGRATION, { from }).set(STORE_ID, newStoreId()),
    );
  };
  if (file === undefined || await holdsAtMost(kv, 1)) return await raise();
  const database = await openSqlite(file, { readOnly: true });
  const versionOf = async () => (await kv.get<number>(SCHEMA)).value!;
  try {
    await migrateWithCopy({ database, file, location, from, to: SCHEMA_VERSION, versionOf, ...options }, raise);
  } finally {
    database.close();
  }
}

/** Events get their sequences before what points at them is moved. */
async function moveAll(kv: Kv): Promise<void> {
  const steps: Step[] = [
    moveWatcherState,
    moveUndecoded,
    moveForgotten,
    ...moveEvents(),
    moveSubscriptions(),
    moveDeliveries(),
    moveAttempts(),
    removeOfDeleted,
    // With the entry under the prefix alone.
    ...FORMER_PREFIXES.map((prefix) => remove({ start: [prefix], end: [prefix, true] })),
    ...SHARED_PREFIXES.map((prefix) => remove(formerRange(prefix))),
  ];
  for (const step of steps) await repeat(kv, step);
  await commit(kv.atomic().delete(MIGRATION));
}

/** Every step's commit checks and writes the migration's entry: two processes at it do nothing twice. */
async function repeat(kv: Kv, step: Step): Promise<void> {
  for (;;) {
    const entry = await kv.get<MigrationEntry>(MIGRATION);
    if (entry.value === null) return;
    const atomic = kv.atomic().check(entry);
    const next = { ...entry.value };
    const isMore = await step(kv, atomic, next);
    if (isMore || next.inOrder !== entry.value.inOrder) await commit(atomic.set(MIGRATION, next));
    if (!isMore) return;
    await yieldToOthers();
  }
}

function remove(range: KvListSelector): Step {
  return async (kv, atomic) => {
    const some = await collect(kv.list(range, { limit: REMOVED_PER_COMMIT, batchSize: REMOVED_PER_COMMIT }));
    for (const { key } of some) atomic.delete(key);
    return some.length > 0;
  };
}

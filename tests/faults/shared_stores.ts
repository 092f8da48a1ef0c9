import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runtimeName } from "../../lib/runtime/runtime.ts";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";
import { findPostgres } from "../store/postgres_cluster.ts";
import { createDatabase } from "../store/postgres_shared.ts";
import type { VirtualTime } from "./virtual_time.ts";
import { wrappedStore } from "./wrapped_store.ts";

/** A store that gateways in virtual time share. */
export interface SharedStore {
  /** A way to it as a process of its own has it, with connections of its own. */
  open(time: VirtualTime): Promise<Store>;
  remove(): Promise<void>;
}

export interface StoreKind {
  name: string;
  /** What is not here that it needs. */
  missing?: string;
  start(): Promise<SharedStore>;
}

const programs = findPostgres();

export const STORE_KINDS: StoreKind[] = [
  { name: "memory", start: () => Promise.resolve(memoryStore()) },
  { name: "postgres", missing: programs === undefined ? "PostgreSQL's programs" : undefined, start: startPostgres },
  { name: "deno-kv", missing: runtimeName === "deno" ? undefined : "Deno", start: startDenoKv },
];

/** There is one way to it, which all have. */
export function memoryStore(): SharedStore {
  let only: Promise<Store> | undefined;
  return {
    async open({ now }) {
      only ??= openStore("memory:", { now });
      return Object.create(await only, { close: { value: () => Promise.resolve() } });
    },
    remove: async () => await (await only)?.close(),
  };
}

async function startPostgres(): Promise<SharedStore> {
  const database = await createDatabase(programs!);
  await database.useTestClock();
  let setMs: number | undefined;
  return {
    // Virtual time does not pass while a call is under way: nobody reads the clock while it is set.
    open: (time) =>
      openReal(time, database.setting(), () => {
        if (setMs !== time.now()) database.setClock(setMs = time.now());
      }),
    remove: () => database.remove(),
  };
}

function startDenoKv(): Promise<SharedStore> {
  const directory = mkdtempSync(join(tmpdir(), "shared-kv-"));
  return Promise.resolve({
    open: (time) => openReal(time, `deno-kv:${join(directory, "gateway.kv")}`, () => {}),
    remove: () => Promise.resolve(rmSync(directory, { recursive: true })),
  });
}

/** @param setClock called before each use of the store */
async function openReal(time: VirtualTime, setting: string, setClock: () => void): Promise<Store> {
  const around = <T>(call: () => Promise<T>) => {
    setClock();
    return time.during(call);
  };
  const store = await around(() => openStore(setting, { now: time.now, isShared: true }));
  return wrappedStore(store, around);
}

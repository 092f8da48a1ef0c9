import { runtimeName } from "../runtime/runtime.ts";
import { checkedStore, type StoreDriver } from "./checked_store.ts";
import type { OpenOptions } from "./file/store_file.ts";
import { openMemoryDriver, openSqliteDriver } from "./sqlite/open.ts";
import { type Store, StoreError } from "./store.ts";
import { COPY_REGISTER, type CopyMark, halfCopy } from "./copy/mark.ts";

/**
 * Opens the store that a setting names: `sqlite:PATH`, `deno-kv:PATH`, `deno-kv:` (the platform's own database),
 * `postgres://…` or `memory:`. A path is absolute, or relative to the working directory.
 *
 * @throws StoreError `unavailable` for another setting, for a store that cannot be opened, and for an unfinished copy; `locked`,
 * `full`, `newer_schema`, `missing`
 */
export async function openStore(setting: string, options: OpenOptions = {}): Promise<Store> {
  const store = checkedStore(await openDriver(setting, options));
  try {
    if (!options.isCopyTarget) await refuseUnfinished(store);
    return store;
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** An unfinished copy would serve old cursors, and lack keys. */
async function refuseUnfinished({ sharedState, location }: Store): Promise<void> {
  const mark = await sharedState.read<CopyMark>(COPY_REGISTER);
  if (mark !== undefined) throw halfCopy(location, mark);
}

async function openDriver(setting: string, options: OpenOptions): Promise<StoreDriver> {
  const [, scheme, path] = /^(sqlite|deno-kv|memory):(.*)$/s.exec(setting) ?? [];
  if (scheme === "sqlite" && path) return await openSqliteDriver(sqlitePath(path), options);
  if (scheme === "memory" && path === "") return await openMemoryDriver(options);
  if (scheme === "deno-kv") {
    if (runtimeName !== "deno") {
      throw new StoreError("unavailable", "deno-kv: needs Deno, so use sqlite:PATH on Bun");
    }
    const { openDenoKvDriver } = await import("./deno_kv/open.ts");
    return await openDenoKvDriver(path === "" ? undefined : path, options);
  }
  if (/^postgres(ql)?:/.test(setting)) {
    const { openPostgresDriver } = await import("./postgres/open.ts");
    return await openPostgresDriver(setting, options);
  }
  throw new StoreError(
    "unavailable",
    `the store must be sqlite:PATH, deno-kv:PATH, deno-kv:, postgres://… or memory:; got ${describe(setting)}`,
  );
}

/** @throws {StoreError} `unavailable` for the URL forms of other programs, which would be files of a strange name here */
function sqlitePath(path: string): string {
  if (path === ":memory:") {
    throw new StoreError("unavailable", "sqlite::memory: is no file. A store in memory is memory:");
  }
  const [, meant] = /^\/\/(\/?[^/].*)$/.exec(path) ?? [];
  if (meant === undefined) return path;
  throw new StoreError(
    "unavailable",
    `sqlite: takes a path, not a URL. Write sqlite:${meant} instead of sqlite:${path}`,
  );
}

/** Another setting may be a URL with a password. The part before the colon shows the mistake. */
function describe(setting: string): string {
  const [scheme, ...rest] = setting.split(":");
  return rest.length === 0 || setting.length === scheme!.length + 1 ? `"${setting}"` : `"${scheme}:…"`;
}

import { runtimeName } from "../lib/runtime/runtime.ts";
import { defaultStoreSetting } from "../lib/runtime/default_store.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, UsageError } from "./command.ts";

export interface StoreUse {
  /** A store that is gone when the process ends is of use. */
  isMemoryAllowed?: boolean;
  /** The store is used as the file that it is: also where a runtime cannot open it otherwise. */
  isAFile?: boolean;
}

/**
 * The store that the flag names, else the environment, else the standard one in the working directory.
 * @throws {UsageError} when it is none, or none for this use; names the flag or the variable
 */
export function storeSetting(
  flag: string | undefined,
  env: Record<string, string | undefined>,
  { isMemoryAllowed = false, isAFile = false }: StoreUse = {},
): string {
  // An empty variable is one that is not set, as everywhere.
  const setting = flag ?? (env.SERVICE_API_STORE || defaultStoreSetting());
  const source = flag === undefined ? "SERVICE_API_STORE" : "--store";
  const isDeno = runtimeName === "deno";
  const isDenoKv = /^deno-kv:/.test(setting);
  if (isDenoKv && !isDeno && !isAFile) {
    throw new UsageError(`${source} must be sqlite:PATH, got ${described(setting)}: deno-kv: needs Deno, this is Bun`);
  }
  if (setting === "memory:" && !isMemoryAllowed) {
    throw new UsageError(`${source} must name a store that is kept, such as sqlite:PATH: memory: is gone at the end`);
  }
  if (/^postgres(ql)?:/.test(setting) && !isAFile) {
    if (flag !== undefined) refusePassword(setting, "--store", "SERVICE_API_STORE");
    return setting;
  }
  if (/^(sqlite:.|memory:$)/s.test(setting) || (isDenoKv && (!isAFile || setting !== "deno-kv:"))) return setting;
  if (isAFile && /^postgres(ql)?:/.test(setting)) {
    throw new UsageError(`${source} must be a store in a file: one in PostgreSQL is backed up with its own pg_dump`);
  }
  const forms = [
    "sqlite:PATH",
    ...(isDeno || isAFile ? ["deno-kv:PATH"] : []),
    ...(isAFile ? [] : ["postgres://USER@HOST/DATABASE"]),
    ...(isMemoryAllowed ? ["memory:"] : []),
  ];
  const last = forms.pop()!;
  const allowed = forms.length === 0 ? last : `${forms.join(", ")} or ${last}`;
  throw new UsageError(`${source} must be ${allowed}, got ${described(setting)}`);
}

/**
 * Everybody on this machine sees what a process is called with.
 * @param variable what may be set instead
 * @throws {UsageError} when a URL on the command line has a password in it; names where it stood
 */
export function refusePassword(setting: string, source: string, variable: string): void {
  if (!URL.canParse(setting) || new URL(setting).password === "") return;
  throw new UsageError(
    `${source} must not have a password in it, which a process list shows: put it into PGPASSWORD, or the whole URL ` +
      `into ${variable}`,
  );
}

/** A URL may hold a password: what stands before the colon is enough to see the mistake. */
function described(setting: string): string {
  const [scheme, ...rest] = setting.split(":");
  return JSON.stringify(rest.length === 0 || rest.join("") === "" ? setting : `${scheme}:…`);
}

/**
 * Runs `use` on the store that the flag names, else the environment, else the standard one in the working directory.
 * It has to be there: to look into a store must not make one. Answers the exit code of `use`.
 * @throws {UsageError} when the setting is no store, or one that is gone when the command ends
 * @throws {StoreError} when it cannot be used
 */
export async function withStore(
  flag: string | undefined,
  io: CommandIo,
  use: (store: Store) => Promise<number>,
): Promise<number> {
  const { openStore } = await import("../lib/store/open.ts");
  const store = await openStore(storeSetting(flag, io.env), {
    mustExist: true,
    onNotice: (notice) => io.stderr(`${notice}\n`),
  });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

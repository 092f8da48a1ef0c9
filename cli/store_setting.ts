import { runtimeName } from "../lib/runtime/runtime.ts";
import { defaultStoreSetting } from "../lib/runtime/default_store.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, UsageError } from "./command.ts";

export interface StoreUse {
  /** Whether the command can use a store in memory. */
  isMemoryAllowed?: boolean;
  /** Whether the command reads the store as a file, which needs no driver of this runtime. */
  isAFile?: boolean;
}

/**
 * The store of the flag, else of the environment, else the default one in the working directory.
 * @throws {UsageError} when it is no store for this use; the message names the flag or the variable
 */
export function storeSetting(
  flag: string | undefined,
  env: Record<string, string | undefined>,
  { isMemoryAllowed = false, isAFile = false }: StoreUse = {},
): string {
  // An empty variable counts as not set.
  const setting = flag ?? (env.SERVICE_API_STORE || defaultStoreSetting());
  const source = flag === undefined ? "SERVICE_API_STORE" : "--store";
  const isDeno = runtimeName === "deno";
  const isDenoKv = /^deno-kv:/.test(setting);
  if (isDenoKv && !isDeno && !isAFile) {
    throw new UsageError(`${source} must be sqlite:PATH on Bun; got ${described(setting)}, which needs Deno`);
  }
  if (setting === "memory:" && !isMemoryAllowed) {
    throw new UsageError(`${source} must be a store on disk such as sqlite:PATH; got memory:`);
  }
  if (/^postgres(ql)?:/.test(setting) && !isAFile) {
    if (flag !== undefined) refusePassword(setting, "--store", "SERVICE_API_STORE");
    return setting;
  }
  if (/^(sqlite:.|memory:$)/s.test(setting) || (isDenoKv && (!isAFile || setting !== "deno-kv:"))) return setting;
  if (isAFile && /^postgres(ql)?:/.test(setting)) {
    throw new UsageError(`${source} must be a store in a file: back up PostgreSQL with pg_dump`);
  }
  const forms = [
    "sqlite:PATH",
    ...(isDeno || isAFile ? ["deno-kv:PATH"] : []),
    ...(isAFile ? [] : ["postgres://USER@HOST/DATABASE"]),
    ...(isMemoryAllowed ? ["memory:"] : []),
  ];
  const last = forms.pop()!;
  const allowed = forms.length === 0 ? last : `${forms.join(", ")} or ${last}`;
  throw new UsageError(`${source} must be ${allowed}; got ${described(setting)}`);
}

/**
 * Refuses a URL with a password on the command line, because a process list shows it.
 * @param source the flag or argument, for the message
 * @param variable where to put the URL instead
 * @throws {UsageError}
 */
export function refusePassword(setting: string, source: string, variable: string): void {
  if (!URL.canParse(setting) || new URL(setting).password === "") return;
  throw new UsageError(
    `${source} must not hold a password, which a process list shows: put it into PGPASSWORD, or the whole URL into ` +
      variable,
  );
}

/** Only the scheme of a URL, because the rest may hold a password. */
function described(setting: string): string {
  const [scheme, ...rest] = setting.split(":");
  return JSON.stringify(rest.length === 0 || rest.join("") === "" ? setting : `${scheme}:…`);
}

/**
 * Opens the store of `storeSetting`, which must exist, runs `use` on it and returns its exit code.
 * @throws {UsageError} when the setting is no store on disk
 * @throws {StoreError} when the store cannot be used
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

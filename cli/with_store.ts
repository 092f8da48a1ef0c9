import { defaultStoreSetting } from "../lib/store/default_store.ts";
import { openStore } from "../lib/store/open_store.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, UsageError } from "./command.ts";

/**
 * Runs `use` on the store that the flag names, else the environment, else the standard one in the working directory.
 * Answers the exit code of `use`.
 * @throws {UsageError} when the store is one that is gone when the command ends
 * @throws {StoreError} when it cannot be used
 */
export async function withStore(
  flag: string | undefined,
  io: CommandIo,
  use: (store: Store) => Promise<number>,
): Promise<number> {
  const setting = flag ?? (io.env.SERVICE_API_STORE || defaultStoreSetting());
  if (setting === "memory:") {
    throw new UsageError("the store memory: is gone when the command ends: name another with --store");
  }
  const store = await openStore(setting, (notice) => io.stderr(`${notice}\n`));
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

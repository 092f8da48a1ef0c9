import { defaultStoreSetting } from "../lib/store/default_store.ts";
import { openStore } from "../lib/store/open_store.ts";
import type { Store } from "../lib/store/store.ts";
import { type CommandIo, UsageError } from "./command.ts";

/**
 * Runs `use` on the store that the flag names, else the environment, else the standard one in the working directory.
 * Answers the exit code: 1 where the store cannot be used, which it says in one line.
 * @throws {UsageError} when the store is one that is gone when the command ends
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
  try {
    const store = await openStore(setting, (notice) => io.stderr(`${notice}\n`));
    try {
      return await use(store);
    } finally {
      await store.close();
    }
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "StoreError") throw error;
    io.stderr(`gateway: ${error.message}\n`);
    return 1;
  }
}

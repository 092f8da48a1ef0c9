import { openStore } from "../lib/store/open.ts";
import type { Store } from "../lib/store/store.ts";
import type { CommandIo } from "./command.ts";
import { storeSetting } from "./store_setting.ts";

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

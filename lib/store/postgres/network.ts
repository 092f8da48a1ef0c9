import type { NounDriver } from "../checked_store.ts";
import { networkMismatch } from "../store_error.ts";
import type { NetworkStore } from "../store.ts";
import type { PostgresContext } from "./database.ts";

/** The network that the store is bound to. */
export function postgresNetwork({ database, location, prefix }: PostgresContext): NounDriver<NetworkStore> {
  async function bound(): Promise<string | undefined> {
    const [row] = await database.read<{ passphrase: string }>(`SELECT passphrase FROM ${prefix}network`);
    return row?.passphrase;
  }

  return {
    bound,
    adopt: async (id) => void await database.write(`UPDATE ${prefix}store SET id = $1`, [id]),
    async bind(passphrase) {
      await database.write(
        `INSERT INTO ${prefix}network (only_row, passphrase) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING`,
        [passphrase],
      );
      const found = (await bound())!;
      if (found !== passphrase) throw networkMismatch(location, found, passphrase);
    },
  };
}

import type { NounDriver } from "../checked_store.ts";
import { networkMismatch } from "../store_error.ts";
import type { NetworkStore } from "../store.ts";
import type { SqlContext } from "./database.ts";

/** The network that the store belongs to. */
export function sqlNetwork({ sql, location }: SqlContext): NounDriver<NetworkStore> {
  const select = sql.prepare<{ passphrase: string }>(`SELECT passphrase FROM ${sql.prefix}network`);
  const bindTo = sql.prepare(
    `INSERT INTO ${sql.prefix}network (only_row, passphrase) VALUES (1, $1) ON CONFLICT (only_row) DO NOTHING`,
  );
  const adopt = sql.prepare(`UPDATE ${sql.prefix}store SET id = $1`);

  async function bound(): Promise<string | undefined> {
    const [row] = await sql.read(select());
    return row?.passphrase;
  }

  return {
    bound,
    adopt: async (id) => void await sql.write(adopt(id)),
    async bind(passphrase) {
      await sql.write(bindTo(passphrase));
      const found = (await bound())!;
      if (found !== passphrase) throw networkMismatch(location, found, passphrase);
    },
  };
}

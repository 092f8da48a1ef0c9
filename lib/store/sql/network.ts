import type { NounDriver } from "../checked_store.ts";
import { networkMismatch } from "../store_error.ts";
import type { NetworkStore } from "../store.ts";
import type { SqlContext } from "./database.ts";

/** @param insert inserts the passphrase `$1` if the table has no row */
export function sqlNetwork({ sql, location }: SqlContext, insert: string): NounDriver<NetworkStore> {
  const select = sql.prepare<{ passphrase: string }>(`SELECT passphrase FROM ${sql.prefix}network`);
  const bindTo = sql.prepare(insert);
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

import type { NounDriver } from "../checked_store.ts";
import { networkMismatch } from "../store_error.ts";
import type { NetworkStore } from "../store.ts";
import type { SqliteContext } from "./database.ts";

/** The network that the store is bound to. */
export function sqliteNetwork({ database, location }: SqliteContext): NounDriver<NetworkStore> {
  const read = database.prepare<{ passphrase: string }>("SELECT passphrase FROM network");
  const write = database.prepare("INSERT INTO network VALUES (?)");
  const adopt = database.prepare("UPDATE store SET id = ?");
  const bound = () => read.get()?.passphrase;

  return {
    bound,
    adopt: (id) => void adopt.run(id),
    bind(passphrase) {
      const found = database.transaction(() => {
        const before = bound();
        if (before === undefined) write.run(passphrase);
        return before ?? passphrase;
      });
      if (found !== passphrase) throw networkMismatch(location, found, passphrase);
    },
  };
}

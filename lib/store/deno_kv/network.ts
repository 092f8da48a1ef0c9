import { networkMismatch } from "../store_error.ts";
import type { NounDriver } from "../checked_store.ts";
import type { NetworkStore } from "../store.ts";
import { commit, type DenoKvContext } from "./database.ts";
import { NETWORK, STORE_ID } from "./schema.ts";

/** The network that the store belongs to. */
export function denoKvNetwork({ kv, location }: DenoKvContext): NounDriver<NetworkStore> {
  return {
    async bind(passphrase) {
      await commit(kv.atomic().check({ key: NETWORK, versionstamp: null }).set(NETWORK, passphrase));
      const bound = (await kv.get<string>(NETWORK)).value!;
      if (bound !== passphrase) throw networkMismatch(location, bound, passphrase);
    },
    adopt: async (id) => void await commit(kv.atomic().set(STORE_ID, id)),
    bound: async () => (await kv.get<string>(NETWORK)).value ?? undefined,
  };
}

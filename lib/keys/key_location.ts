import type { Store } from "../store/store.ts";

/** A place of keys that commands can change: the store, or a keys file. The methods are the store's. */
export type KeyLocation = Pick<Store, "location" | "close"> & {
  keys: Pick<Store["keys"], "insert" | "get" | "list" | "setDisabled" | "delete">;
};

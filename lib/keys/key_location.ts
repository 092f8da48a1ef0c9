import type { Store } from "../store/store.ts";

/** Where keys are kept and can be changed: the store, or a keys file. The methods are the store's, in its words. */
export type KeyLocation = Pick<Store, "location" | "close"> & {
  keys: Pick<Store["keys"], "insert" | "get" | "list" | "setDisabled" | "delete">;
};

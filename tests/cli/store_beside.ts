import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, beforeEach } from "node:test";
import { openStore } from "../../lib/store/open.ts";
import type { Store } from "../../lib/store/store.ts";

export interface StoreBeside {
  /** Where anything else of a test can be; gone after the last one. */
  readonly folder: string;
  /** As `--store` takes it. */
  readonly setting: string;
  /** Open beside the command, as a gateway has it. */
  readonly store: Store;
}

/** Before each test of the file a new store, filled like this. */
export function storeBeside(fill: (store: Store) => Promise<unknown>): StoreBeside {
  const folder = mkdtempSync(join(tmpdir(), "store-beside-"));
  let count = 0;
  let setting = "";
  let store: Store | undefined;
  beforeEach(async () => {
    await store?.close();
    setting = `sqlite:${join(folder, `gateway${count++}.db`)}`;
    store = await openStore(setting);
    await fill(store);
  });
  after(async () => {
    await store?.close();
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    get setting() {
      return setting;
    },
    get store() {
      return store!;
    },
  };
}

import type { Log } from "../log.ts";
import { type AskDisk, type StoreFileState, watchStoreFile } from "../store/file/file_watch.ts";
import type { Store } from "../store/store.ts";

export type Maintenance = ReturnType<typeof createMaintenance>;

/** Watches the store's file and its disk. */
export function createMaintenance({ store, log, askDisk }: {
  store: Pick<Store, "location">;
  log: Log;
  /** The operating system's values when absent. */
  askDisk?: AskDisk;
}) {
  const lookAtFile = watchStoreFile(store.location, askDisk);
  let gone: string | undefined;
  let disk: string | undefined;

  function reportFile({ file }: StoreFileState): void {
    const isGone = file !== "there";
    if (isGone === (gone !== undefined)) return;
    gone = isGone
      ? `the file of ${store.location} was ${file}: all further writes are lost at the end of this process`
      : undefined;
    if (gone === undefined) log.info("the store's file is back");
    else log.error(gone, { todo: "restore the file and restart the gateway, or start it on a backup" });
  }

  function reportDisk({ isDiskLow, freeBytes }: StoreFileState): void {
    if (isDiskLow === (disk !== undefined)) return;
    const megabytes = Math.floor(freeBytes / 1_000_000);
    disk = isDiskLow ? `the disk of ${store.location} is almost full: ${megabytes} MB are left` : undefined;
    if (disk === undefined) log.info("the store's disk has room again");
    else log.warn(disk, { todo: "make room, or store events for a shorter time (SERVICE_API_RETENTION_DAYS)" });
  }

  return {
    /** Call it every second. */
    look() {
      const state = lookAtFile?.();
      if (state === undefined) return;
      reportFile(state);
      reportDisk(state);
    },
    /** Present problems, for people. */
    troubles: (): string[] => [gone, disk].filter((trouble) => trouble !== undefined),
    /** Whether the store's file is missing, so that further writes are lost. */
    isStoreGone: () => gone !== undefined,
  };
}

import { type Clock, createStepWatch } from "../clock.ts";
import type { Log } from "../log.ts";
import { type AskDisk, type StoreFileState, watchStoreFile } from "../store/file/file_watch.ts";
import type { Store } from "../store/store.ts";

/** Looks after what the gateway stands on: the file of its store, the disk that it is on, and this machine's clock. */
export interface Maintenance {
  /** To be called every second. */
  look(): void;
  /** What is wrong at this moment, for people. */
  troubles(): string[];
  /** Whether the store's file is gone: what is written from then on is lost. */
  isStoreGone(): boolean;
}

export function createMaintenance({ store, clock, log, askDisk }: {
  store: Pick<Store, "location">;
  clock: Clock;
  log: Log;
  /** The operating system's word when absent. */
  askDisk?: AskDisk;
}): Maintenance {
  const lookAtFile = watchStoreFile(store.location, askDisk);
  const stepOfClock = createStepWatch(clock);
  let reverts = clock.networkReverts?.().length;
  let gone: string | undefined;
  let disk: string | undefined;

  function tellFile({ file }: StoreFileState): void {
    const isGone = file !== "there";
    if (isGone === (gone !== undefined)) return;
    gone = isGone
      ? `the file of ${store.location} was ${file}: what is written now is lost with this process`
      : undefined;
    if (gone === undefined) log.info("the store's file is there again");
    else log.error(gone, { todo: "put the file back and start the gateway again, or start it on a backup" });
  }

  function tellDisk({ isDiskLow, freeBytes }: StoreFileState): void {
    if (isDiskLow === (disk !== undefined)) return;
    const megabytes = Math.floor(freeBytes / 1_000_000);
    disk = isDiskLow ? `the disk of ${store.location} is almost full: ${megabytes} MB are left` : undefined;
    if (disk === undefined) log.info("the store's disk has room again");
    else log.warn(disk, { todo: "make room, or keep events for a shorter time (SERVICE_API_RETENTION_DAYS)" });
  }

  function tellStep(): void {
    const stepMs = stepOfClock();
    // The time that the sandbox's network takes back with its ledgers was none of this machine.
    const isReverted = clock.networkReverts?.().length !== reverts;
    reverts = clock.networkReverts?.().length;
    if (stepMs === 0 || isReverted) return;
    const way = stepMs > 0 ? "ahead" : "back";
    log.warn(`this machine's clock was set ${way} by ${Math.round(Math.abs(stepMs) / 1_000)} s`);
  }

  return {
    look() {
      tellStep();
      const state = lookAtFile?.();
      if (state === undefined) return;
      tellFile(state);
      tellDisk(state);
    },
    troubles: () => [gone, disk].filter((trouble) => trouble !== undefined),
    isStoreGone: () => gone !== undefined,
  };
}

import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { type Clock, createStepWatch } from "../clock.ts";
import type { Log } from "../log.ts";
import type { Store } from "../store/store.ts";

/** Looks after what the gateway stands on: the file of its store, the disk that it is on, and this machine's clock. */
export interface Caretaker {
  /** To be called every second. */
  look(): void;
  /** What is wrong at this moment, for people. */
  troubles(): string[];
  /** Whether the store's file is gone: what is written from then on is lost. */
  isStoreGone(): boolean;
}

/** Less than either is little. */
const LITTLE_BYTES = 200 * 1024 * 1024;
const LITTLE_SHARE = 0.02;
const DISK_LOOK_MS = 60_000;

export function createCaretaker({ store, clock, log }: {
  store: Pick<Store, "location">;
  clock: Clock;
  log: Log;
}): Caretaker {
  const path = /^(?:sqlite|deno-kv):(.+)$/s.exec(store.location)?.[1];
  const opened = path === undefined ? undefined : identity(path);
  const stepOfClock = createStepWatch(clock);
  let gone: string | undefined;
  let disk: string | undefined;
  let diskLookedAt = -Infinity;

  function lookAtFile(file: string): void {
    const isThere = identity(file) === opened;
    if (isThere === (gone === undefined)) return;
    gone = isThere ? undefined : `the file of ${store.location} is gone: what is written now is lost with this process`;
    if (gone === undefined) log.info("the store's file is there again");
    else log.error(gone, { todo: "put the file back and start the gateway again, or start it on a backup" });
  }

  function lookAtDisk(file: string): void {
    if (clock.monotonicMs() - diskLookedAt < DISK_LOOK_MS) return;
    diskLookedAt = clock.monotonicMs();
    const { bavail, blocks, bsize } = statfsSync(dirname(file));
    const isLittle = bavail * bsize < LITTLE_BYTES || bavail < blocks * LITTLE_SHARE;
    if (isLittle === (disk !== undefined)) return;
    disk = isLittle
      ? `the disk of ${store.location} is almost full: ${Math.floor(bavail * bsize / 1_048_576)} MB are left`
      : undefined;
    if (disk !== undefined) log.warn(disk);
  }

  return {
    look() {
      const stepMs = stepOfClock();
      if (stepMs !== 0) {
        const way = stepMs > 0 ? "ahead" : "back";
        log.warn(`this machine's clock was set ${way} by ${Math.round(Math.abs(stepMs) / 1_000)} s`);
      }
      if (path === undefined) return;
      lookAtFile(path);
      if (gone === undefined) lookAtDisk(path);
    },
    troubles: () => [gone, disk].filter((trouble) => trouble !== undefined),
    isStoreGone: () => gone !== undefined,
  };
}

/** Tells a file from another of the same name; undefined: there is none. */
function identity(path: string): string | undefined {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found && `${found.dev}:${found.ino}`;
}

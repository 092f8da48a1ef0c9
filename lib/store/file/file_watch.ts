import { realpathSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The state of an open store's file. */
export interface StoreFileState {
  /**
   * `removed`: there is no file at the path any more. `replaced`: there is another file. In both cases writes go to a file without
   * a name, and are lost with the process.
   */
  file: "there" | "removed" | "replaced";
  /** The free space on its disk. */
  freeBytes: number;
  /**
   * Less than 200 MB are free, or less than 2 % of the disk and 2 GB. On a disk below 1 GB: less than a fifth. The operator
   * should make room, or shorten the history.
   */
  isDiskLow: boolean;
}

const LOW_BYTES = 200_000_000;
const MOST_LOW_SHARE = 0.2;
const LOW_SHARE = 0.02;
const MOST_LOW_BYTES = 2_000_000_000;

/** The operating system's report on the disk of a path, as `statfs` returns it: sizes are in blocks of `bsize` bytes. */
export type AskDisk = (path: string) => { bavail: number; blocks: number; bsize: number };

/**
 * Watches the file of a store that has just been opened. Undefined for a store without a file. A look costs two system
 * calls, so one every second is fine.
 *
 * @param location as in `Store.location`
 */
export function watchStoreFile(location: string, askDisk: AskDisk = statfsSync): (() => StoreFileState) | undefined {
  const [, path] = /^(?:sqlite|deno-kv):(.+)$/s.exec(location) ?? [];
  if (path === undefined) return undefined;
  const identify = () => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  };
  const opened = identify();
  // Behind a link: SQLite's other files lie there, too.
  const directory = dirname(opened === undefined ? path : realpathSync(path));

  let file: StoreFileState["file"] = "there";
  let room = { freeBytes: Infinity, isDiskLow: false };

  function lookAtFile(): void {
    const now = identify();
    file = now === undefined ? "removed" : now === opened ? "there" : "replaced";
  }

  function lookAtDisk(): void {
    const { bavail, blocks, bsize } = askDisk(directory);
    const freeBytes = bavail * bsize;
    const size = blocks * bsize;
    const leastBytes = Math.min(LOW_BYTES, MOST_LOW_SHARE * size);
    const lowBytes = Math.max(leastBytes, Math.min(MOST_LOW_BYTES, LOW_SHARE * size));
    room = { freeBytes, isDiskLow: freeBytes < lowBytes };
  }

  return function look() {
    for (const lookAt of [lookAtFile, lookAtDisk]) {
      try {
        lookAt();
      } catch {
        // The last state stays. A deleted folder has no disk to ask.
      }
    }
    return { file, ...room };
  };
}

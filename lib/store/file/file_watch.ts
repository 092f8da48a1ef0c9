import { realpathSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** How the file of a store that is open stands. */
export interface StoreFileState {
  /**
   * `removed`: nothing is at its path any more; `replaced`: another file is. In both cases what is written goes to a file
   * without a name, and is lost with the process.
   */
  file: "there" | "removed" | "replaced";
  /** What is left on its disk. */
  freeBytes: number;
  /**
   * Less than 200 MB is left, or less than 2 % of a disk and 2 GB; of a disk below 1 GB less than a fifth. Time to make room,
   * or to let go of history.
   */
  isDiskLow: boolean;
}

const LOW_BYTES = 200_000_000;
const MOST_LOW_SHARE = 0.2;
const LOW_SHARE = 0.02;
const MOST_LOW_BYTES = 2_000_000_000;

/** What the operating system says of the disk that a path is on, as `statfs` does: blocks of so many bytes. */
export type AskDisk = (path: string) => { bavail: number; blocks: number; bsize: number };

/**
 * Looks after the file of a store that has just been opened; undefined when it is not kept in a file. A look costs two calls
 * of the operating system: every second is not too often.
 *
 * @param location as `Store.location` names it
 */
export function watchStoreFile(location: string, askDisk: AskDisk = statfsSync): (() => StoreFileState) | undefined {
  const [, path] = /^(?:sqlite|deno-kv):(.+)$/s.exec(location) ?? [];
  if (path === undefined) return undefined;
  const identify = () => {
    const found = statSync(path, { throwIfNoEntry: false });
    return found && `${found.dev}:${found.ino}`;
  };
  const opened = identify();
  // Behind a link: what is written beside the file lies there, too.
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
        // It stays as it was last seen: of the disk of a folder that is gone, nothing can be learnt.
      }
    }
    return { file, ...room };
  };
}

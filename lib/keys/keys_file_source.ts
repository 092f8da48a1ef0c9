import { resolve } from "node:path";
import type { KeyRecord } from "../store/store.ts";
import type { KeySource } from "./key_source.ts";
import { fileState, KeysFileError, readText, recordsIn } from "./keys_file.ts";

export interface KeysFileSourceOptions {
  path: string;
  /** Unix ms. */
  now(): number;
  /** Called once for each change that makes the file unusable; the keys stay as they were. */
  onProblem(message: string): void;
}

/** A file may change again within this time without a new time stamp, because some file systems store whole seconds. */
const RECENT_MS = 2_500;

/** The last read of the file. */
interface LastRead {
  text: string | undefined;
  mode: number;
  /** Undefined while the time stamp is too recent to prove anything. */
  fingerprint: string | undefined;
}

/**
 * Keys from a file that an operator may edit. `version()` reads it again; a malformed, empty or missing file leaves the keys as
 * they were. The use of keys is not stored: a write would race with the operator's editor, and could lose a `disabled`.
 * @throws {KeysFileError} when the file exists but is unusable. A missing file is reported to `onProblem`, and has no keys.
 */
export async function openKeysFileSource({ now, onProblem, ...options }: KeysFileSourceOptions): Promise<KeySource> {
  const path = resolve(options.path);
  let keys = new Map<string, KeyRecord>();
  let last: LastRead = { text: undefined, mode: 0o600, fingerprint: undefined };
  let lastProblem: string | undefined;
  /** How often the keys have changed. */
  let version = 0;

  /** Throws when the file is unusable. */
  async function refresh(): Promise<void> {
    const seen = await fileState(path);
    if (seen === undefined) throw new KeysFileError(`keys file ${path} does not exist`);
    const isStable = now() - seen.modifiedAtMs >= RECENT_MS;
    if (isStable && seen.fingerprint === last.fingerprint) return;
    const text = await readText(path);
    if (seen.mode !== last.mode) warnOfMode(seen.mode);
    const isSame = text === last.text;
    last = { text, mode: seen.mode, fingerprint: isStable ? seen.fingerprint : undefined };
    if (isSame) return;
    // A program that overwrites a file empties it first, and may then find the disk full.
    if (text.trim() === "" && keys.size > 0) {
      throw new KeysFileError(`keys file ${path} is empty: write [] for a file without keys`);
    }
    keys = new Map((await recordsIn(path, text)).map((record) => [record.id, record]));
    version += 1;
  }

  function warnOfMode(mode: number): void {
    if ((mode & 0o077) === 0) return;
    onProblem(`keys file ${path} is open to other users (mode ${mode.toString(8)}); change it to 600`);
  }

  function report(error: unknown, consequence: string): void {
    if (!(error instanceof KeysFileError)) throw error;
    if (error.message !== lastProblem) onProblem(`${error.message}; ${consequence}`);
    lastProblem = error.message;
  }

  const exists = (await fileState(path)) !== undefined;
  await refresh().catch((error) => {
    if (exists) throw error;
    report(error, "the gateway has no keys until it exists");
  });

  return {
    location: `file:${path}`,
    get: (id) => Promise.resolve(keys.get(id)),
    isEmpty: () => Promise.resolve(keys.size === 0),
    async version() {
      try {
        await refresh();
        lastProblem = undefined;
      } catch (error) {
        report(error, "the keys stay as they were");
      }
      return version;
    },
    async touch() {},
  };
}

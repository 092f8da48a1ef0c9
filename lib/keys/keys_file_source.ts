import { resolve } from "node:path";
import type { KeyRecord } from "../store/store.ts";
import type { KeySource } from "./key_source.ts";
import { fileState, readText, recordsIn } from "./keys_file.ts";
import { KeysFileError } from "./keys_file_error.ts";

export interface KeysFileSourceOptions {
  path: string;
  /** Unix ms. */
  now(): number;
  /** Told once a change when the file is not what it should be; the keys stay as they were. */
  onProblem(message: string): void;
}

/** A file changed so recently may change again without its time stamp showing it: some file systems count whole seconds. */
const RECENT_MS = 2_500;

/** The file as it was last read. */
interface LastRead {
  text: string | undefined;
  mode: number;
  /** Undefined while its time stamp proves nothing. */
  fingerprint: string | undefined;
}

/**
 * Keys from a file an operator may edit. `changed()` looks at it again: a file that does not parse, is empty or has
 * vanished leaves the keys as they were. Use is not noted in it: writing there would race with an operator's editor, and
 * lose a `disabled`.
 * @throws {KeysFileError} when the file is there but cannot be used. A missing one is a problem told, and holds no keys.
 */
export async function openKeysFileSource({ now, onProblem, ...options }: KeysFileSourceOptions): Promise<KeySource> {
  const path = resolve(options.path);
  let keys = new Map<string, KeyRecord>();
  let last: LastRead = { text: undefined, mode: 0o600, fingerprint: undefined };
  let lastProblem: string | undefined;
  let asked = false;

  /** Whether the keys are others than before. Throws when the file cannot be used. */
  async function look(): Promise<boolean> {
    const seen = await fileState(path);
    if (seen === undefined) throw new KeysFileError(`keys file ${path} does not exist`);
    const isStable = now() - seen.modifiedAtMs >= RECENT_MS;
    if (isStable && seen.fingerprint === last.fingerprint) return false;
    const text = await readText(path);
    if (seen.mode !== last.mode) warnOfMode(seen.mode);
    const isSame = text === last.text;
    last = { text, mode: seen.mode, fingerprint: isStable ? seen.fingerprint : undefined };
    if (isSame) return false;
    // A program that writes a file in its place empties it first, and may then find no room.
    if (text.trim() === "" && keys.size > 0) {
      throw new KeysFileError(`keys file ${path} is empty: write [] into it where there are to be no keys`);
    }
    keys = new Map((await recordsIn(path, text)).map((record) => [record.id, record]));
    return true;
  }

  function warnOfMode(mode: number): void {
    if ((mode & 0o077) === 0) return;
    onProblem(`keys file ${path} is open to other users (mode ${mode.toString(8)}); make it 600`);
  }

  function tell(error: unknown, consequence: string): void {
    if (!(error instanceof KeysFileError)) throw error;
    if (error.message !== lastProblem) onProblem(`${error.message}; ${consequence}`);
    lastProblem = error.message;
  }

  const exists = (await fileState(path)) !== undefined;
  await look().catch((error) => {
    if (exists) throw error;
    tell(error, "there are no keys until it does");
  });

  return {
    location: `file:${path}`,
    get: (id) => Promise.resolve(keys.get(id)),
    isEmpty: () => Promise.resolve(keys.size === 0),
    async changed() {
      let isNew = !asked;
      asked = true;
      try {
        if (await look()) isNew = true;
        lastProblem = undefined;
      } catch (error) {
        tell(error, "the keys stay as they were");
      }
      return isNew;
    },
    async touch() {},
    async close() {},
  };
}

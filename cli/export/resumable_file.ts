import { existsSync, statSync } from "node:fs";
import { type FileHandle, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { CommandError } from "../command.ts";
import { fileErrorText } from "../failure.ts";

/** The note beside an unfinished file. */
interface Kept<S> {
  /** The name of its content: a file of another one is not continued. */
  content: string;
  bytes: number;
  state: S;
}

/** A file that is written in pieces. Until it is whole, it is `PATH.part`, and a run after a kill continues it. */
export interface ResumableFile<S> {
  /** The state of the last piece that an interrupted run has kept. Undefined: the file begins. */
  readonly state: S | undefined;
  /** Writes a piece. `state`: a later run continues from it. */
  write(text: string, state: S): Promise<void>;
  /** Gives the file its name. */
  finish(): Promise<void>;
  /** Closes the unfinished file. */
  close(): Promise<void>;
}

/** The state is kept so often. A kill costs the pieces since. */
const KEEP_EVERY_MS = 1_000;

export interface FileOptions {
  path: string;
  content: string;
  /** Whether to replace a file, and to drop an unfinished one with other content. */
  force: boolean;
  /** Unix ms. */
  now(): number;
}

/** @throws {CommandError} when the file exists, or cannot be written */
export async function openResumableFile<S>({ path, content, force, now }: FileOptions): Promise<ResumableFile<S>> {
  const part = `${path}.part`;
  const note = `${part}.json`;
  if (existsSync(path) && !force) throw new CommandError(`${path} exists: name another file, or pass --force`);
  const kept = await readNote<S>(note);
  const isSame = kept?.content === content && sizeOf(part) >= kept.bytes;
  if (kept !== undefined && kept.content !== content && !force) {
    throw new CommandError(`${part} is an unfinished export of ${kept.content}: finish or delete it, or pass --force`);
  }
  let bytes = isSame ? kept.bytes : 0;
  let keptAtMs = -Infinity;
  const file = await inWords(part, () => begin(part, isSame ? bytes : undefined));

  async function keep(state: S): Promise<void> {
    // The note must not be ahead of the file after a power loss.
    await file.sync();
    const text: Kept<S> = { content, bytes, state };
    await writeFile(`${note}.new`, JSON.stringify(text), { mode: 0o600 });
    await rename(`${note}.new`, note);
    keptAtMs = now();
  }

  return {
    state: isSame ? kept.state : undefined,
    write: (text, state) =>
      inWords(part, async () => {
        const piece = new TextEncoder().encode(text);
        for (let at = 0; at < piece.length;) {
          at += (await file.write(piece, at, piece.length - at, bytes + at)).bytesWritten;
        }
        bytes += piece.length;
        if (now() - keptAtMs >= KEEP_EVERY_MS) await keep(state);
      }),
    finish: () =>
      inWords(path, async () => {
        await file.sync();
        await file.close();
        await rename(part, path);
        await rm(note, { force: true });
      }),
    close: () => file.close(),
  };
}

/** @param bytes so many of an unfinished file stay */
async function begin(part: string, bytes: number | undefined): Promise<FileHandle> {
  const file = await open(part, bytes === undefined ? "w" : "r+", 0o600);
  if (bytes !== undefined) await file.truncate(bytes);
  return file;
}

/** Undefined for none. */
async function readNote<S>(note: string): Promise<Kept<S> | undefined> {
  if (!existsSync(note)) return undefined;
  const text = await inWords(note, () => readFile(note, "utf8"));
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`${note} is not of this program: delete it, or name another file`);
  }
}

const sizeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.size ?? -1;

/** @throws {CommandError} with the path, for an error of the file system */
async function inWords<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new CommandError(`${path} cannot be written: ${fileErrorText(error)}`, { cause: error });
  }
}

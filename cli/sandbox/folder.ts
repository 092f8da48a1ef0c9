import { statSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { CommandError } from "../command.ts";
import { fileErrorText } from "../failure.ts";

/** The absolute path of the ledger in the folder of `--state`. */
export function ledgerFile(stateFolder: string): string {
  return resolve(stateFolder, "ledger.db");
}

/**
 * The folder of `--state`, else a temporary one.
 *
 * @param undo gets the function that deletes a temporary folder
 * @throws {CommandError} when the folder cannot be created
 */
export async function sandboxFolder(
  stateFolder: string | undefined,
  undo: (() => Promise<unknown>)[],
): Promise<string> {
  if (stateFolder !== undefined) {
    await makeFolder(stateFolder);
    return stateFolder;
  }
  const folder = await makeTemporaryFolder();
  undo.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function makeTemporaryFolder(): Promise<string> {
  const parent = tmpdir();
  try {
    return await mkdtemp(join(parent, "gateway-sandbox-"));
  } catch (error) {
    const isNone = (error as NodeJS.ErrnoException).code === "ENOENT";
    const why = isNone ? "there is no such folder" : fileErrorText(error);
    throw new CommandError(
      `cannot create a folder in ${parent} (${why}): set TMPDIR to another folder, or use --state`,
    );
  }
}

/** Creates only the last folder of the path, so that a typo does not create a tree of folders. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    const isInNone = (error as NodeJS.ErrnoException).code === "ENOENT";
    if (isInNone) {
      throw new CommandError(`--state must be in a folder that exists; got ${path}. Create ${dirname(resolve(path))}`);
    }
    throw new CommandError(`--state ${path} cannot be created: ${fileErrorText(error)}`);
  }
}

import { statSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { CommandError } from "../command.ts";
import { inWords } from "../failure.ts";

/** The file in the folder of `--state` that keeps the network's ledger. Absolute. */
export function ledgerFile(stateFolder: string): string {
  return resolve(stateFolder, "ledger.db");
}

/**
 * The folder of `--state`, or one of the sandbox's own.
 *
 * @param undo is given how to remove the latter
 * @throws {CommandError} when it cannot be made
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
    const why = isNone ? "there is no such folder" : inWords(error);
    throw new CommandError(
      `no folder can be made in ${parent}: ${why}: set TMPDIR to another, or keep it with --state`,
    );
  }
}

/** Only the folder itself: a path with a typo in its middle must not become a tree of folders. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory()) return;
    const isInNone = (error as NodeJS.ErrnoException).code === "ENOENT";
    const why = isInNone ? `there is no folder ${dirname(resolve(path))}: make it, or name another` : inWords(error);
    throw new CommandError(`--state ${path} cannot be made: ${why}`);
  }
}

import { dirname } from "node:path";

/** The keys file cannot be used. The message names it and says why; it quotes nothing of what is in there. */
export class KeysFileError extends Error {
  override name = "KeysFileError";
}

/** What an operator can do about it, by the file system's code. */
const REMEDIES: Record<string, (path: string) => string> = {
  ENOENT: (path) => `there is no directory ${dirname(path)}: create it, or name another path`,
  ENOTDIR: (path) => `${dirname(path)} is no directory: name another path`,
  EACCES: (path) => `check the owner and mode of it and of ${dirname(path)} (EACCES)`,
  EPERM: (path) => `check the owner and mode of it and of ${dirname(path)} (EPERM)`,
  EROFS: () => "its disk is read-only (EROFS)",
  ENOSPC: () => "the disk is full: make room on it (ENOSPC)",
};

/** What the file system refused, in an operator's words. */
export function cannot(what: string, path: string, error: unknown): KeysFileError {
  const code = (error as { code?: string }).code ?? "unknown error";
  const why = Object.hasOwn(REMEDIES, code) ? REMEDIES[code]!(path) : code;
  return new KeysFileError(`keys file ${path} cannot ${what}: ${why}`, { cause: error });
}

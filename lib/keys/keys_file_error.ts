import { dirname } from "node:path";

/** The keys file is unusable. The message gives its path and the reason, and quotes nothing of its content. */
export class KeysFileError extends Error {
  override name = "KeysFileError";
}

/** Reason and remedy for the operator, by the file system's code. */
const REMEDIES: Record<string, (path: string) => string> = {
  ENOENT: (path) => `the directory ${dirname(path)} does not exist: create it, or name another path`,
  ENOTDIR: (path) => `${dirname(path)} is no directory: name another path`,
  EACCES: (path) => `check the owner and mode of it and of ${dirname(path)} (EACCES)`,
  EPERM: (path) => `check the owner and mode of it and of ${dirname(path)} (EPERM)`,
  EROFS: () => "its disk is read-only (EROFS)",
  ENOSPC: () => "the disk is full: make room on it (ENOSPC)",
};

/** The error of the file system, for the operator. */
export function cannot(what: string, path: string, error: unknown): KeysFileError {
  const code = (error as { code?: string }).code ?? "unknown error";
  const why = Object.hasOwn(REMEDIES, code) ? REMEDIES[code]!(path) : code;
  return new KeysFileError(`keys file ${path} cannot ${what}: ${why}`, { cause: error });
}

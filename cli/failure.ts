import { visible } from "../lib/visible_text.ts";
import { type CommandIo, OutputError } from "./command.ts";
import { errorRoomOf, hanging } from "./terminal/line_width.ts";

/** A wrong flag or setting. Errors have a kind, so that `keygen` need not load their classes. */
const CALLED_WRONGLY = ["usage", "setting"];
/** The settings name a store of another network, or of a newer program. */
const WRONG_STORES = ["network_mismatch", "newer_schema"];
/** Bugs of this program, which need their stack. */
const BUGS = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError];

/** The exit code of a program that SIGPIPE ends, such as `cat` before `head`. */
const READER_GONE = 141;

/**
 * Prints in one line why a command failed, or nothing when the reader of its output is gone. Only a narrow terminal breaks
 * the line. Returns the exit code: 2 for a wrong flag, argument or setting, else 1.
 *
 * @param command its name, or undefined for `gateway` itself
 * @throws the error itself when it is a bug
 */
export function reportFailure(command: string | undefined, error: unknown, io: CommandIo): number {
  if (!(error instanceof Error) || BUGS.some((bug) => error instanceof bug)) throw error;
  if (error instanceof OutputError && error.isReaderGone) return READER_GONE;
  const kind = "kind" in error ? String(error.kind) : "";
  const isCalledWrongly = CALLED_WRONGLY.includes(kind);
  const isWrongStore = WRONG_STORES.includes(kind);
  const called = command === undefined ? "gateway" : `gateway ${command}`;
  io.stderr(`${hanging(`${called}: `, visible(error.message), errorRoomOf(io))}\n`);
  if (isCalledWrongly) io.stderr(`See: gateway help${command === undefined ? "" : ` ${command}`}\n`);
  return isCalledWrongly || isWrongStore ? 2 : 1;
}

const FILE_ERRORS: Record<string, string> = {
  ENOENT: "no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is not a folder",
  EEXIST: "something else is there",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
};

/** The message for an error of the file system. The runtimes' own messages differ. */
export function fileErrorText(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && FILE_ERRORS[code]) || code || message;
}

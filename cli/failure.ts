import { type CommandIo, OutputError } from "./command.ts";
import { errorRoomOf, hanging } from "./terminal/line_width.ts";

/** The caller's to mend, and the command's help says how. By kind: a mistake in `keygen` must not load what defines them. */
const CALLED_WRONGLY = ["usage", "setting"];
/** What a store says when the settings name one of another network, or of a newer program. */
const WRONG_STORES = ["network_mismatch", "newer_schema"];
/** Mistakes of this program: their stack is what helps. */
const UNFORESEEN = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError];

/** What a shell shows for a program that ended because nobody reads on (SIGPIPE), as `head` makes `cat` end. */
const READER_GONE = 141;

/**
 * Says in one line, which only a terminal that is too narrow for it breaks, what kept a command from its work; nothing
 * when who read its output has gone. Answers the exit code: 2 where a flag, an argument or a setting is to be changed, 1
 * where the world is.
 *
 * @param command its name; undefined: `gateway` itself
 * @throws what is no foreseen failure, as it is
 */
export function reportFailure(command: string | undefined, error: unknown, io: CommandIo): number {
  if (!(error instanceof Error) || UNFORESEEN.some((mistake) => error instanceof mistake)) throw error;
  if (error instanceof OutputError && error.isReaderGone) return READER_GONE;
  const kind = "kind" in error ? String(error.kind) : "";
  const isCalledWrongly = CALLED_WRONGLY.includes(kind);
  const isWrongStore = WRONG_STORES.includes(kind);
  const called = command === undefined ? "gateway" : `gateway ${command}`;
  io.stderr(`${hanging(`${called}: `, error.message, errorRoomOf(io))}\n`);
  if (isCalledWrongly) io.stderr(`See: gateway help${command === undefined ? "" : ` ${command}`}\n`);
  return isCalledWrongly || isWrongStore ? 2 : 1;
}

const WORDS: Record<string, string> = {
  ENOENT: "there is no such file",
  EACCES: "permission denied",
  EPERM: "permission denied",
  EISDIR: "it is a folder",
  ENOTDIR: "a part of the path is no folder",
  EEXIST: "something else is there",
  ENAMETOOLONG: "the name is too long",
  ENOSPC: "the disk is full",
  EDQUOT: "the disk quota is used up",
  EROFS: "the file system is read-only",
};

/** What a file system said, in words: its own differ between the runtimes. */
export function inWords(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return (code !== undefined && WORDS[code]) || code || message;
}

import type { CommandIo } from "./command.ts";
import { errorRoomOf, hanging } from "./terminal/wrap.ts";

/** The caller's to mend, and the command's help says how. By name: a mistake in `keygen` must not load what defines them. */
const CALLED_WRONGLY = ["UsageError", "ConfigError", "KeyRecordsError", "SecretsKeyError"];
/** What a store says when the settings name one of another network, or of a newer program. */
const WRONG_STORES = ["network_mismatch", "newer_schema"];
/** Mistakes of this program: their stack is what helps. */
const UNFORESEEN = /^(Eval|Range|Reference|Syntax|Type|URI|Aggregate)Error$/;

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
  if (!(error instanceof Error) || UNFORESEEN.test(error.name)) throw error;
  if ("isReaderGone" in error && error.isReaderGone) return READER_GONE;
  const isCalledWrongly = CALLED_WRONGLY.includes(error.name);
  const isWrongStore = "kind" in error && WRONG_STORES.includes(String(error.kind));
  const called = command === undefined ? "gateway" : `gateway ${command}`;
  io.stderr(`${hanging(`${called}: `, error.message, errorRoomOf(io))}\n`);
  if (isCalledWrongly) io.stderr(`See: gateway help${command === undefined ? "" : ` ${command}`}\n`);
  return isCalledWrongly || isWrongStore ? 2 : 1;
}

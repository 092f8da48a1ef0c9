import type { CommandIo } from "./command.ts";

/** The caller's to mend, and the command's help says how. By name: a mistake in `keygen` must not load what defines them. */
const CALLED_WRONGLY = ["UsageError", "ConfigError"];
const WRONG_SETTINGS = [...CALLED_WRONGLY, "KeyRecordsError", "SecretsKeyError"];
/** What a store says when the settings name one of another network, or of a newer program. */
const WRONG_STORES = ["network_mismatch", "newer_schema"];
/** Mistakes of this program: their stack is what helps. */
const UNFORESEEN = /^(Eval|Range|Reference|Syntax|Type|URI|Aggregate)Error$/;

/**
 * Says in one line what kept a command from its work. Answers the exit code: 2 where a flag or a setting is to be changed,
 * 1 where the world is.
 * @throws what is no foreseen failure, as it is
 */
export function reportFailure(command: string, error: unknown, io: CommandIo): number {
  if (!(error instanceof Error) || UNFORESEEN.test(error.name)) throw error;
  io.stderr(`gateway ${command}: ${error.message}\n`);
  if (CALLED_WRONGLY.includes(error.name)) io.stderr(`See: gateway help ${command}\n`);
  const isWrongStore = "kind" in error && WRONG_STORES.includes(String(error.kind));
  return WRONG_SETTINGS.includes(error.name) || isWrongStore ? 2 : 1;
}

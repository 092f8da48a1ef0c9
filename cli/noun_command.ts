import {
  CommandError,
  type CommandIo,
  type Flags,
  parseFlags,
  readAction,
  refuseExtra,
  refuseForeignFlags,
  type Row,
  UsageError,
} from "./command.ts";

/** A command with actions on records: `keys`, `webhooks`. */
export interface NounCommand<A extends string, R extends readonly Row[]> {
  name: string;
  /** The record that an ID names: `a key`. */
  noun: string;
  /** `list` takes no ID. `delete` asks first. */
  actions: readonly A[];
  flags: R;
}

/**
 * Reads `NAME ACTION [ID] [FLAGS]`.
 * @throws {UsageError} for a missing or unexpected argument, and for a flag of another action
 */
export function parseNounCommand<A extends string, const R extends readonly Row[]>(
  { name, noun, actions, flags: rows }: NounCommand<A, R>,
  args: string[],
  { ask }: CommandIo,
): { action: A; id: string; flags: Flags<R> } {
  const { flags, positionals } = parseFlags(args, rows);
  refuseWholeKey(positionals);
  const [first, id, ...rest] = positionals;
  const action = readAction(first, actions);
  const isList = action === "list";
  refuseExtra(isList && id !== undefined ? [id] : rest, `${name} ${action}`);
  if (!isList && id === undefined) {
    throw new UsageError(`ID is missing: pass the id of ${noun} (${name} list shows the ids)`);
  }
  refuseForeignFlags(rows, flags, action);
  if (action === "delete" && !("yes" in flags) && ask === undefined) {
    throw new UsageError(`${name} delete needs --yes where there is no terminal to ask at`);
  }
  return { action, id: id ?? "", flags };
}

/**
 * Refuses a whole API key among the arguments. The message does not quote the key, because it may end in a log.
 * @throws {UsageError}
 */
export function refuseWholeKey(texts: readonly (string | undefined)[]): void {
  if (!texts.some((text) => text?.startsWith("service_sk_"))) return;
  throw new UsageError("ID must not be a whole key: pass its id, the part between service_sk_ and the next _");
}

/**
 * Asks the operator to confirm a deletion.
 * @param what such as `key 4fJ2kQ9xTz "shop" from sqlite:gateway.db`
 * @throws {CommandError} unless the answer is yes
 */
export async function confirmDeletion(io: CommandIo, what: string): Promise<void> {
  const answer = await io.ask!(`Delete ${what}? It cannot be undone. [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was deleted");
}

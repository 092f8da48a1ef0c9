import {
  CommandError,
  type CommandIo,
  type Flags,
  parseFlags,
  readAction,
  refuseExtra,
  type Row,
  UsageError,
} from "./command.ts";

/** A command on many of a kind: `keys`, `webhooks`. */
export interface NounCommand<A extends string, R extends readonly Row[]> {
  name: string;
  /** What an ID is that of: `a key`. */
  noun: string;
  /** `list` takes no ID, `delete` asks before it deletes. */
  actions: readonly A[];
  flags: R;
}

/**
 * Reads `NAME ACTION [ID] [FLAGS]`.
 * @throws {UsageError} for what is missing, unexpected, or does not belong to the action
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
  if (!isList && id === undefined) throw new UsageError(`ID is missing: ${name} ${action} takes that of ${noun}`);
  const given = Object.keys(flags).map((flag) => `--${flag}`);
  for (const [left, , of] of rows) {
    const flag = given.find((one) => one === left.split(" ")[0]);
    if (flag === undefined || of === undefined || of.includes(action)) continue;
    throw new UsageError(`${flag} does not belong to ${name} ${action}`);
  }
  if (action === "delete" && !given.includes("--yes") && ask === undefined) {
    throw new UsageError(`${name} delete asks before it deletes, and here is no terminal to ask: add --yes`);
  }
  return { action, id: id ?? "", flags };
}

/**
 * Refuses arguments of which one is a whole API key, and does not quote it: what is typed by mistake must not end in a log.
 * @throws {UsageError}
 */
export function refuseWholeKey(texts: readonly (string | undefined)[]): void {
  if (!texts.some((text) => text?.startsWith("service_sk_"))) return;
  throw new UsageError("a whole key was given: give its id, the part between service_sk_ and the next _");
}

/**
 * Asks whether something is to be deleted.
 * @param what as in `key 4fJ2kQ9xTz "shop" from sqlite:gateway.db`
 * @throws {CommandError} when it is not
 */
export async function confirmDeletion(io: CommandIo, what: string): Promise<void> {
  const answer = await io.ask!(`Delete ${what}? It cannot be undone. [y/N] `);
  if (!/^y(es)?$/i.test(answer.trim())) throw new CommandError("nothing was deleted");
}

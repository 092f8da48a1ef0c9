import { parseArgs } from "node:util";
import { didYouMean, nearest } from "../lib/nearest.ts";

/** One command of `gateway`. */
export interface Command {
  /** Returns the text of `gateway help NAME`, in lines of at most `room` characters. */
  help(room: number): string;
  /** The values of its first argument, such as `list`. Absent: it takes none. */
  actions?: readonly string[];
  /**
   * Runs the command and returns its exit code.
   * @throws {UsageError} when the command line is wrong
   * @throws {Error} when the command fails; the message is for the operator
   */
  run(args: string[], io: CommandIo): Promise<number>;
}

/** The process that a command runs in. */
export interface CommandIo {
  /** How the operator called this program, for command lines to copy: `./gateway`. */
  program: string;
  env: Record<string, string | undefined>;
  /**
   * Writes text as it is, before it returns.
   * @throws {OutputError} when it cannot be written
   */
  stdout(text: string): void;
  /** Writes text as it is, and drops text that it cannot write. */
  stderr(text: string): void;
  /**
   * Writes text to standard error that must not be lost.
   * @throws {OutputError} when it cannot be written
   */
  stderrOrFail(text: string): void;
  /** Whether standard output is closed, or the program that started this one ignores it. */
  isOutputUnread: boolean;
  /** All of standard input, to its end. */
  stdin(): Promise<Uint8Array>;
  /** Whether standard output is a terminal. */
  isTerminal: boolean;
  /** Characters in a line of the terminal at standard output. Absent: no terminal, or its width is not known. */
  columns?: number;
  /** Whether standard error is a terminal. */
  isErrorTerminal: boolean;
  /** Asks at the terminal for one line, hidden when it is secret. Absent: standard input is no terminal. */
  ask?(question: string, isSecret?: boolean): Promise<string>;
  /** Unix ms. */
  now(): number;
}

/** The command line is wrong. The message is one line: the flag, what it must be, what it was. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly kind = "usage";
}

/** The command failed. The message says why in one line. Exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** Standard output or error cannot be written. The message says why. Exit code 1, or that of a closed pipe. */
export class OutputError extends Error {
  override name = "OutputError";

  constructor(message: string, readonly isReaderGone = false) {
    super(message);
  }
}

/**
 * A line of a list in a help text: `--port N` on the left, then its meaning with the default in brackets. `of` names the
 * actions that take this flag. Without it all of them do.
 */
export type Row = readonly [left: string, meaning: string, of?: readonly string[]];

/** The flags on the command line, by name: `--port N` has a text, `--json` is `true`. */
export type Flags<R extends readonly Row[]> = {
  [L in R[number][0] as NameIn<L>]?: L extends `--${string} ${string}` ? string : true;
};
type NameIn<L extends string> = L extends `--${infer N} ${string}` ? N : L extends `--${infer N}` ? N : never;

/**
 * Reads `--flag value`, `--flag=value` and switches, as the rows of the help name them. All other arguments are positional.
 * @throws {UsageError} for a flag that is unknown, repeated or without its value, and for a switch with a value
 */
export function parseFlags<const R extends readonly Row[]>(
  args: string[],
  rows: R,
): { flags: Flags<R>; positionals: string[] } {
  const options: Record<string, { type: "string" | "boolean" }> = {};
  for (const [left] of rows) {
    const [flag, value] = left.split(" ");
    options[flag!.slice(2)] = { type: value === undefined ? "boolean" : "string" };
  }
  // Not strict: its messages differ between the runtimes, so the tokens are checked here.
  const { tokens, positionals } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const flags: Record<string, string | true> = {};
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const type = Object.hasOwn(options, name) ? options[name]!.type : undefined;
    if (type === undefined) throw unknownFlag(args[token.index]!, rawName, Object.keys(options));
    if (Object.hasOwn(flags, name)) throw new UsageError(`${rawName} is given twice`);
    if (type === "boolean" && value !== undefined) throw new UsageError(`${rawName} takes no value`);
    if (type === "string" && (value === undefined || value === "" || (!token.inlineValue && value.startsWith("--")))) {
      throw new UsageError(`${rawName} needs a value`);
    }
    flags[name] = type === "string" ? value! : true;
  }
  return { flags: flags as Flags<R>, positionals };
}

/** Every command knows this flag. */
const HELP_FLAG = "-h";

/** @param typed the whole argument, because the parser reads `-port` as the flag `-p` */
function unknownFlag(typed: string, rawName: string, known: string[]): UsageError {
  const isWord = !rawName.startsWith("--") && /^-\w[\w-]/.test(typed);
  const name = isWord ? typed.split("=")[0]! : rawName;
  return new UsageError(`unknown flag ${name}; ${meantFlag(name.replace(/^-+/, ""), known)}`);
}

function meantFlag(name: string, known: string[]): string {
  const long = known.map((flag) => `--${flag}`);
  if (/^[h?]$/i.test(name)) return `did you mean ${HELP_FLAG}?`;
  const begun = [...name].length === 1 ? long.filter((flag) => flag.startsWith(`--${name.toLowerCase()}`)) : [];
  if (begun.length > 0) return `did you mean ${begun.join(", ").replace(/, (?=\S+$)/, " or ")}?`;
  if (/^v$/i.test(name)) return "did you mean gateway -v?";
  const near = nearest(name, [...known, "help"]);
  if (near !== undefined) return `did you mean --${near}?`;
  return long.length === 0 ? "there are none" : `allowed: ${long.join(", ")}`;
}

/**
 * Reads the action of a command.
 * @throws {UsageError} when the command has no such action
 */
export function readAction<A extends string>(typed: string | undefined, actions: readonly A[]): A {
  const action = actions.find((one) => one === typed);
  if (action !== undefined) return action;
  const was = typed === undefined ? "nothing" : JSON.stringify(typed) + didYouMean(typed, actions);
  throw new UsageError(`expected ${actions.length === 1 ? "" : "one of "}${actions.join(", ")}; got ${was}`);
}

/** @throws {UsageError} naming the first flag that belongs to other actions, if there is one */
export function refuseForeignFlags(rows: readonly Row[], flags: object, action: string): void {
  for (const [left, , of] of rows) {
    const flag = left.split(" ")[0]!;
    if (!Object.hasOwn(flags, flag.slice(2)) || of === undefined || of.includes(action)) continue;
    throw new UsageError(`${flag} is only for ${of.join(", ")}; got ${action}`);
  }
}

/** @throws {UsageError} when the text of the flag is no `http://` or `https://` URL, or holds a user or a password */
export function httpUrl<T extends string | undefined>(flag: string, text: T): T {
  if (text === undefined) return text;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`${flag} must be an http:// or https:// URL; got ${JSON.stringify(text)}`);
  }
  if (url.username + url.password === "") return text;
  // Without the text: it holds the password.
  throw new UsageError(
    `${flag} must be a URL without user and password: a process list shows flags, and no request uses them`,
  );
}

/** @throws {UsageError} naming the first of these arguments, if there is one */
export function refuseExtra(extra: readonly string[], after = ""): void {
  if (extra.length === 0) return;
  throw new UsageError(`unexpected ${JSON.stringify(extra[0])}${after && ` after ${after}`}`);
}

/**
 * Reads the number of a flag.
 * @throws {UsageError} unless it is an integer from `min` to `max`, in digits alone
 */
export function integerFlag(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  if (/^\d{1,11}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`${flag} must be an integer from ${min} to ${max}; got ${JSON.stringify(text)}`);
}

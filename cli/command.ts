import { parseArgs } from "node:util";
import { didYouMean, nearest } from "../lib/nearest.ts";

/** One command of `gateway`. */
export interface Command {
  /** What `gateway help NAME` prints, where a line may hold so much. */
  help(room: number): string;
  /** What it can be told to do, its first argument; absent: nothing in particular. */
  actions?: readonly string[];
  /**
   * Runs it and answers the exit code.
   * @throws {UsageError} when it was called wrongly.
   * @throws {Error} what was in the way, in a message for whoever called it.
   */
  run(args: string[], io: CommandIo): Promise<number>;
}

/** What a command sees of the world around it. */
export interface CommandIo {
  /** How this program was called, for a command line to copy: `./gateway`. */
  program: string;
  env: Record<string, string | undefined>;
  /**
   * Writes text as it is, before it returns.
   * @throws {OutputError} when it cannot be written
   */
  stdout(text: string): void;
  /** Writes text as it is; what cannot be written is lost. */
  stderr(text: string): void;
  /**
   * Writes to standard error what must not be lost.
   * @throws {OutputError} when it cannot be written
   */
  stderrOrFail(text: string): void;
  /** Whether standard output is connected to nothing: closed, or ignored by the program that started this one. */
  isOutputUnread: boolean;
  /** All of standard input, to its end. */
  stdin(): Promise<Uint8Array>;
  /** Whether standard output is read by eyes. */
  isTerminal: boolean;
  /** How many characters a line of the terminal at standard output holds; absent when there is none or it does not tell. */
  columns?: number;
  /** Whether standard error is read by eyes. */
  isErrorTerminal: boolean;
  /** Asks whoever sits at the terminal for one line, which is not shown where it is secret; absent when nobody does. */
  ask?(question: string, isSecret?: boolean): Promise<string>;
  /** Unix ms. */
  now(): number;
}

/** The command line is wrong: one line that names the flag, what it was and what is allowed. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
  readonly kind = "usage";
}

/** It could not be done, and the message says why in one line. Exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** Standard output or error cannot be written, and the message says why. Exit code 1, or that of a closed pipe. */
export class OutputError extends Error {
  override name = "OutputError";

  constructor(message: string, readonly isReaderGone = false) {
    super(message);
  }
}

/**
 * A line of a list: what stands on the left, as `--port N`, and what it means, its standard value in brackets. Of a flag,
 * which is read as the line says, also the actions that it belongs to; all when absent.
 */
export type Row = readonly [left: string, meaning: string, of?: readonly string[]];

/** What flags were given, by name: `--port N` takes a text, `--json` is there or not. */
export type Flags<R extends readonly Row[]> = {
  [L in R[number][0] as NameIn<L>]?: L extends `--${string} ${string}` ? string : true;
};
type NameIn<L extends string> = L extends `--${infer N} ${string}` ? N : L extends `--${infer N}` ? N : never;

/**
 * Reads the flags that the lines of a help name: `--flag value`, `--flag=value` and switches; everything else is positional.
 * @throws {UsageError} for a flag that is unknown, twice there, without a value, or a switch with one.
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

/** A dash and a letter that every command knows. */
const HELP_FLAG = "-h";

/** @param typed the whole argument: of `-port` the first letter alone is read as a flag */
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
 * What a command is told to do.
 * @throws {UsageError} when it is none of its actions
 */
export function readAction<A extends string>(typed: string | undefined, actions: readonly A[]): A {
  const action = actions.find((one) => one === typed);
  if (action !== undefined) return action;
  const was = typed === undefined ? "nothing" : JSON.stringify(typed) + didYouMean(typed, actions);
  throw new UsageError(`expected ${actions.length === 1 ? "" : "one of "}${actions.join(", ")}, got ${was}`);
}

/** @throws {UsageError} for the first of these: they were not expected. */
export function refuseExtra(extra: readonly string[], after = ""): void {
  if (extra.length === 0) return;
  throw new UsageError(`unexpected ${JSON.stringify(extra[0])}${after && ` after ${after}`}`);
}

/**
 * The number that a flag was given.
 * @throws {UsageError} when it is no integer from `min` to `max`, in digits alone
 */
export function integerFlag(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  if (/^\d{1,11}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`${flag} must be an integer from ${min} to ${max}, got ${JSON.stringify(text)}`);
}

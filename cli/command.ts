import { parseArgs } from "node:util";

/** One command of `gateway`. */
export interface Command {
  name: string;
  /** One line for the list of commands. */
  summary: string;
  /** What `gateway help NAME` prints. */
  help: string;
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
  /** Writes text as it is. */
  stdout(text: string): void;
  stderr(text: string): void;
  /** All of standard input, to its end. */
  stdin(): Promise<Uint8Array>;
  /** Whether standard output is read by eyes. */
  isTerminal: boolean;
  /** Whether standard error is read by eyes. */
  isErrorTerminal: boolean;
  /** Asks whoever sits at the terminal for one line; absent when nobody does. */
  ask?(question: string): Promise<string>;
  /** Unix ms. */
  now(): number;
}

/** The command line is wrong: one line that names the flag, what it was and what is allowed. Exit code 2. */
export class UsageError extends Error {
  override name = "UsageError";
}

/** It could not be done, and the message says why in one line. Exit code 1. */
export class CommandError extends Error {
  override name = "CommandError";
}

/** Flags by name: one that takes a text, or one that is there or not. */
export type FlagSpec = Record<string, "text" | "switch">;
export type Flags<S extends FlagSpec> = { [N in keyof S]?: S[N] extends "text" ? string : true };

/**
 * Reads `--flag value`, `--flag=value` and switches; everything else is positional.
 * @throws {UsageError} for a flag that is unknown, twice there, without a value, or a switch with one.
 */
export function parseFlags<const S extends FlagSpec>(
  args: string[],
  spec: S,
): { flags: Flags<S>; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(spec).map(([name, kind]) => [name, { type: kind === "text" ? "string" : "boolean" } as const]),
  );
  // Not strict: its messages differ between the runtimes, so the tokens are checked here.
  const { tokens, positionals } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  const flags: Record<string, string | true> = {};
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, rawName, value } = token;
    const kind = Object.hasOwn(spec, name) ? spec[name] : undefined;
    if (kind === undefined) {
      const allowed = Object.keys(spec).map((known) => `--${known}`).join(", ");
      throw new UsageError(`unknown flag ${rawName}; allowed: ${allowed}`);
    }
    if (Object.hasOwn(flags, name)) throw new UsageError(`${rawName} is given twice`);
    if (kind === "switch" && value !== undefined) throw new UsageError(`${rawName} takes no value`);
    if (kind === "text" && (value === undefined || value === "" || (!token.inlineValue && value.startsWith("--")))) {
      throw new UsageError(`${rawName} needs a value`);
    }
    flags[name] = kind === "text" ? value! : true;
  }
  return { flags: flags as Flags<S>, positionals };
}

/**
 * The number that a flag was given.
 * @throws {UsageError} when it is no integer from `min` to `max`, in digits alone
 */
export function integerFlag(flag: string, text: string, { min, max }: { min: number; max: number }): number {
  if (/^\d{1,11}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  throw new UsageError(`${flag} must be an integer from ${min} to ${max}, got ${JSON.stringify(text)}`);
}

/** Log lines: JSON, or short text for people. Foreign text can neither forge a line nor show a secret. */

import { visible } from "./visible_text.ts";

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export type LogFields = Record<string, unknown>;

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** Whether a line of this level would be written. Saves the hot path from building one. */
  writes(level: LogLevel): boolean;
}

export interface LogOptions {
  level: LogLevel;
  format: "json" | "pretty";
  /** Takes one line, with its line end. */
  write(line: string): void;
  now(): number;
}

export function createLog({ level, format, write, now }: LogOptions): Log {
  const lowest = LOG_LEVELS.indexOf(level);

  function line(lineLevel: LogLevel, message: string, fields: LogFields = {}): void {
    if (LOG_LEVELS.indexOf(lineLevel) < lowest) return;
    const time = new Date(now()).toISOString();
    const plain = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, printable(value)]));
    const text = format === "json"
      ? JSON.stringify({ time, level: lineLevel, message, ...plain })
      : `${time.slice(11, 23)} ${lineLevel.padEnd(5)} ${message}${pairs(plain)}`;
    write(`${withoutSecrets(visible(text))}\n`);
  }

  return {
    debug: (message, fields) => line("debug", message, fields),
    info: (message, fields) => line("info", message, fields),
    warn: (message, fields) => line("warn", message, fields),
    error: (message, fields) => line("error", message, fields),
    writes: (asked) => LOG_LEVELS.indexOf(asked) >= lowest,
  };
}

/** All values go to JSON unchanged, except errors; see `errorText`. */
function printable(value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  return value instanceof Error ? errorText(value) : value;
}

/**
 * Errors with our own names are expected: the log has their messages and those of their causes. Other errors have their
 * stack.
 */
function errorText(error: Error): string {
  const foreseen = !/^(|Eval|Range|Reference|Syntax|Type|URI|Aggregate)Error$/.test(error.name);
  if (!foreseen) return error.stack ?? `${error.name}: ${error.message}`;
  const messages: string[] = [];
  for (let at: unknown = error; at !== undefined && messages.length < 5; at = (at as { cause?: unknown }).cause) {
    messages.push(at instanceof Error ? at.message : String(at));
  }
  return messages.join(": ");
}

function pairs(fields: LogFields): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("");
}

/** API keys, signing secrets of webhooks and secret seeds of accounts, anywhere in a line. */
const SECRETS = /(service_sk_)\w+|(whsec_)[\w+/=]+|\bS[A-Z2-7]{55}\b/gi;

function withoutSecrets(text: string): string {
  return text.replace(SECRETS, (_, key, signing) => `${key ?? signing ?? "S"}…`);
}

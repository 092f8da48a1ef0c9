import type { Config } from "../lib/config.ts";
import { createLog, type Log } from "../lib/log.ts";
import type { CommandIo } from "./command.ts";

/** The log of a running command: on standard error, so that standard output stays for what was asked for. */
export function createCommandLog({ log, logLevel }: Pick<Config, "log" | "logLevel">, io: CommandIo): Log {
  const format = log !== "auto" ? log : io.isErrorTerminal ? "pretty" : "json";
  return createLog({ format, level: logLevel, write: io.stderr, now: io.now });
}

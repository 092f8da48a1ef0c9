import type { Config } from "../lib/config.ts";
import { createLog, type Log } from "../lib/log.ts";
import type { CommandIo } from "./command.ts";

/** The log of a running command. It goes to standard error, because standard output holds the command's result. */
export function createCommandLog({ log, logLevel }: Pick<Config, "log" | "logLevel">, io: CommandIo): Log {
  const format = log !== "auto" ? log : io.isErrorTerminal ? "pretty" : "json";
  return createLog({ format, level: logLevel, write: io.stderr, now: io.now });
}

/** A log that can be made silent, for parts that still log while they stop. */
export function mutable(log: Log): { log: Log; mute(): void } {
  let isMuted = false;
  const unlessMuted = (write: Log["info"]): Log["info"] => (message, fields) => {
    if (!isMuted) write(message, fields);
  };
  return {
    log: {
      debug: unlessMuted(log.debug),
      info: unlessMuted(log.info),
      warn: unlessMuted(log.warn),
      error: unlessMuted(log.error),
      writes: log.writes,
    },
    mute: () => void (isMuted = true),
  };
}

import type { CommandIo } from "../../cli/command.ts";

/** A world for one command: what it printed can be read afterwards. */
export interface FakeIo extends CommandIo {
  out: string;
  err: string;
}

export interface FakeIoOptions {
  env?: Record<string, string>;
  isTerminal?: boolean;
  /** As `isTerminal` when absent. */
  isErrorTerminal?: boolean;
  columns?: number;
  isOutputUnread?: boolean;
  /** The error of writes to standard output. */
  outputError?: Error;
  /** The error of writes to standard error that must not be lost. */
  errorOutputError?: Error;
  /** The user's answer at the terminal; absent: no terminal. */
  answer?: string;
  now?: number;
  /** The text on standard input. */
  stdin?: string;
}

export function fakeIo(
  { env = {}, isTerminal = false, answer, now = Date.now(), stdin = "", ...options }: FakeIoOptions = {},
): FakeIo {
  const io: FakeIo = {
    program: "gateway",
    env,
    isTerminal,
    isErrorTerminal: options.isErrorTerminal ?? isTerminal,
    out: "",
    err: "",
    columns: options.columns,
    isOutputUnread: options.isOutputUnread ?? false,
    stdout(text) {
      if (options.outputError !== undefined) throw options.outputError;
      io.out += text;
    },
    stderr: (text) => void (io.err += text),
    stderrOrFail(text) {
      if (options.errorOutputError !== undefined) throw options.errorOutputError;
      io.err += text;
    },
    stdin: () => Promise.resolve(new TextEncoder().encode(stdin)),
    now: () => now,
  };
  if (answer !== undefined) {
    io.ask = (question) => {
      io.err += question;
      return Promise.resolve(answer);
    };
  }
  return io;
}

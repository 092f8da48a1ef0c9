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
  /** What writing to standard output throws. */
  outputError?: Error;
  /** What writing to standard error throws where nothing may be lost. */
  errorOutputError?: Error;
  /** What somebody at the terminal answers; absent: nobody is there. */
  answer?: string;
  now?: number;
  /** What comes on standard input. */
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

import {
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  readAction,
  refuseExtra,
  type Row,
  UsageError,
} from "../command.ts";
import { shortId } from "../delivery_line.ts";
import { sandboxEnvironment } from "./banner.ts";
import { callSandbox, findSandbox, SANDBOX_ROW, sandboxUrl } from "./running_sandbox.ts";
import type { SandboxInfo } from "./running_sandbox.ts";

/** Actions on a running sandbox. */
export const SANDBOX_ACTIONS = ["advance", "snapshot", "revert", "fund", "env"] as const;

export const SANDBOX_ACTION_ROWS: Row[] = [
  ["advance --seconds N", "Move the time by N seconds; the ledgers of that time close at once"],
  ["advance --ledgers N", "Close N ledgers, and move the time accordingly"],
  ["snapshot NAME", "Save the state of the network, until the sandbox ends"],
  ["revert NAME", "Go back to a snapshot: ledgers, accounts, contracts and clock"],
  ["fund ADDRESS", "Pay 10000 lumens to an account (G…), which may be new, or to a contract (C…) that has less"],
  ["env", "Print addresses, keys and accounts as shell variables, for eval"],
];

/** Their help is in the rows of the actions. */
const FLAGS = [["--seconds N", ""], ["--ledgers N", ""], ["--json", ""], SANDBOX_ROW] as const;

/** Ten years, and as many ledgers as one call takes. */
const MAX_SECONDS = 315_360_000;
const MAX_LEDGERS = 100_000_000;

interface Tip {
  latestLedger: number;
  latestLedgerCloseTime: string;
}

interface Called {
  info: SandboxInfo;
  json: boolean;
  io: CommandIo;
}

type Act = (called: Called) => Promise<number> | number;

/** Reads the arguments of an action, and returns the function that runs it once the sandbox is found. */
const ACTS: Record<typeof SANDBOX_ACTIONS[number], (flags: Flags<typeof FLAGS>, words: string[]) => Act> = {
  advance(flags, words) {
    const by = readAdvance(flags, words);
    return (called) => advance(by, called);
  },
  snapshot: (flags, words) => withWord("snapshot", "NAME", flags, words, snapshot),
  revert: (flags, words) => withWord("revert", "NAME", flags, words, revert),
  fund: (flags, words) => withWord("fund", "ADDRESS", flags, words, fund),
  env(flags, words) {
    refuseAdvance("env", flags);
    refuseExtra(words);
    return ({ info, json, io }) => say(info, sandboxEnvironment(info).trimEnd(), json, io);
  },
};

/** Runs an action on a running sandbox. `args` begin with its name. */
export async function runAction([typed, ...args]: string[], io: CommandIo): Promise<number> {
  const action = readAction(typed, SANDBOX_ACTIONS);
  const { flags, positionals } = parseFlags(args, FLAGS);
  const act = ACTS[action](flags, positionals);
  const info = await findSandbox(sandboxUrl(flags.sandbox));
  return await act({ info, json: flags.json === true, io });
}

function withWord(
  action: string,
  what: string,
  flags: Flags<typeof FLAGS>,
  [word, ...more]: string[],
  act: (word: string, called: Called) => Promise<number>,
): Act {
  refuseAdvance(action, flags);
  if (word === undefined) throw new UsageError(`${what} is missing: sandbox ${action} needs it`);
  refuseExtra(more);
  return (called) => act(word, called);
}

function refuseAdvance(action: string, { seconds, ledgers }: Flags<typeof FLAGS>): void {
  if ((seconds ?? ledgers) === undefined) return;
  throw new UsageError(`--seconds and --ledgers are only for advance, got ${action}`);
}

function readAdvance({ seconds, ledgers }: Flags<typeof FLAGS>, words: string[]): Record<string, number> {
  if ((seconds === undefined) === (ledgers === undefined)) {
    const got = words[0] === undefined ? "" : `, got ${JSON.stringify(words[0])}`;
    throw new UsageError(`advance needs either --seconds N or --ledgers N${got}`);
  }
  refuseExtra(words);
  return seconds === undefined
    ? { ledgers: integerFlag("--ledgers", ledgers!, { min: 1, max: MAX_LEDGERS }) }
    : { seconds: integerFlag("--seconds", seconds, { min: 1, max: MAX_SECONDS }) };
}

async function advance(by: Record<string, number>, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<Tip & { ledgers: number }>(info.rpc, "sandbox_advance", by);
  return say(done, `${done.ledgers} ${done.ledgers === 1 ? "ledger" : "ledgers"} closed. ${tipLine(done)}`, json, io);
}

async function snapshot(name: string, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<{ ledger: number }>(info.rpc, "sandbox_snapshot", { name });
  return say(
    done,
    `Saved ledger ${done.ledger} as snapshot ${name}.`,
    json,
    io,
  );
}

async function revert(name: string, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<Tip>(info.rpc, "sandbox_revert", { name });
  return say(done, `Back at snapshot ${name}. ${tipLine(done)}`, json, io);
}

async function fund(address: string, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<{ paid: boolean; ledger?: number }>(info.rpc, "sandbox_fund", { address });
  const what = done.paid ? `got 10000 lumens in ledger ${done.ledger}` : "already has 10000 lumens or more";
  return say(done, `${shortId(address)} ${what}.`, json, io);
}

function tipLine({ latestLedger, latestLedgerCloseTime }: Tip): string {
  const time = new Date(Number(latestLedgerCloseTime) * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");
  return `The network is at ledger ${latestLedger}, ${time}.`;
}

function say(answer: unknown, line: string, json: boolean, { stdout }: CommandIo): number {
  stdout(`${json ? JSON.stringify(answer) : line}\n`);
  return 0;
}

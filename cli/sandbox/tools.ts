import {
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  readAction,
  refuseExtra,
  refuseForeignFlags,
  type Row,
  UsageError,
} from "../command.ts";
import { shortId } from "../delivery_line.ts";
import { sandboxEnvironment } from "./banner.ts";
import { callSandbox, findSandbox, SANDBOX_ROW, sandboxUrl } from "./running_sandbox.ts";
import type { SandboxInfo } from "./running_sandbox.ts";

/** Actions on a running sandbox. */
export const SANDBOX_ACTIONS = [
  "advance",
  "snapshot",
  "snapshots",
  "revert",
  "fund",
  "impersonate",
  "status",
  "env",
] as const;

export const SANDBOX_ACTION_ROWS: Row[] = [
  ["advance --seconds N", "Move the time by N seconds, and close a ledger for every five of them"],
  ["advance --ledgers N", "Close N ledgers, and move the time by --ledger-ms for each; not with --keep-time"],
  ["snapshot NAME", "Save the state of the network, until the sandbox ends"],
  ["snapshots", "List the snapshots; --drop NAME deletes one first"],
  ["revert NAME", "Go back to a snapshot: ledgers, accounts, contracts and clock"],
  [
    "fund ADDRESS",
    "Pay 10000 lumens to an account (G…), which may be new, or to a contract (C…) that has less; --amount N pays N " +
    "lumens in any case",
  ],
  [
    "impersonate ACCOUNT",
    "Take envelopes and authorisations of an account (G…) without its signatures; --stop ends that",
  ],
  ["status", "Print impersonated accounts, and entries of a fork that are newer than the fork"],
  ["env", "Print addresses, keys and accounts as shell variables, for eval"],
];

/** Their help is in the rows of the actions. */
const FLAGS = [
  ["--seconds N", "", ["advance"]],
  ["--ledgers N", "", ["advance"]],
  ["--keep-time", "", ["advance"]],
  ["--drop NAME", "", ["snapshots"]],
  ["--amount N", "", ["fund"]],
  ["--stop", "", ["impersonate"]],
  ["--json", ""],
  SANDBOX_ROW,
] as const;

/** The argument of an action. */
const ARGUMENTS: Partial<Record<typeof SANDBOX_ACTIONS[number], string>> = {
  snapshot: "NAME",
  revert: "NAME",
  fund: "ADDRESS",
  impersonate: "ACCOUNT",
};

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

/** Runs an action on a running sandbox. `args` begin with its name. A wrong command line fails before the search. */
export async function runAction(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [typed, ...words] } = parseFlags(args, FLAGS);
  const action = readAction(typed, SANDBOX_ACTIONS);
  refuseForeignFlags(FLAGS, flags, action);
  const by = action === "advance" ? readAdvance(flags, words) : {};
  const argument = ARGUMENTS[action];
  const [word = ""] = words;
  if (argument !== undefined && word === "") throw new UsageError(`${argument} is missing: sandbox ${action} needs it`);
  refuseExtra(argument === undefined ? words : words.slice(1));
  const called = { info: await findSandbox(sandboxUrl(flags.sandbox)), json: flags.json === true, io };
  switch (action) {
    case "advance":
      return await advance(by, called);
    case "snapshot":
      return await snapshot(word, called);
    case "snapshots":
      return await snapshots(flags.drop, called);
    case "revert":
      return await revert(word, called);
    case "fund":
      return await fund(word, flags.amount, called);
    case "impersonate":
      return await impersonate(word, flags.stop === true, called);
    case "status":
      return await status(called);
    case "env":
      return say(called.info, sandboxEnvironment(called.info).trimEnd(), called.json, io);
  }
}

function readAdvance(flags: Flags<typeof FLAGS>, [got]: string[]): Record<string, number | boolean> {
  const { seconds, ledgers } = flags;
  const keepTime = flags["keep-time"] === true;
  if ((seconds === undefined) === (ledgers === undefined)) {
    const was = got === undefined ? "" : `; got ${JSON.stringify(got)}`;
    throw new UsageError(`advance needs either --seconds N or --ledgers N${was}`);
  }
  if (keepTime && seconds !== undefined) throw new UsageError("--keep-time is only for --ledgers; got --seconds");
  return seconds === undefined
    ? { ledgers: integerFlag("--ledgers", ledgers!, { min: 1, max: MAX_LEDGERS }), keepTime }
    : { seconds: integerFlag("--seconds", seconds, { min: 1, max: MAX_SECONDS }) };
}

async function advance(by: Record<string, number | boolean>, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<Tip & { ledgers: number; hashChain: string }>(info.rpc, "sandbox_advance", by);
  const broken = done.hashChain === "broken" ? " Their hashes form chains of 1000 ledgers." : "";
  const closed = `${done.ledgers} ${done.ledgers === 1 ? "ledger" : "ledgers"} closed.${broken}`;
  return say(done, `${closed} ${tipLine(done)}`, json, io);
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

async function snapshots(drop: string | undefined, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<{ snapshots: { name: string; ledger: number }[] }>(
    info.rpc,
    "sandbox_snapshots",
    drop === undefined ? {} : { drop },
  );
  const lines = done.snapshots.map(({ name, ledger }) => `${name} at ledger ${ledger}`);
  return say(done, lines.join("\n") || "There are no snapshots.", json, io);
}

async function revert(name: string, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<Tip>(info.rpc, "sandbox_revert", { name });
  return say(done, `Back at snapshot ${name}. ${tipLine(done)}`, json, io);
}

async function fund(address: string, amount: string | undefined, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox<{ paid: boolean; ledger?: number }>(info.rpc, "sandbox_fund", { address, amount });
  const what = done.paid
    ? `got ${amount ?? "10000"} lumens in ledger ${done.ledger}`
    : "already has 10000 lumens or more";
  return say(done, `${shortId(address)} ${what}.`, json, io);
}

async function impersonate(address: string, stops: boolean, { info, json, io }: Called): Promise<number> {
  const done = await callSandbox(info.rpc, stops ? "sandbox_stopImpersonating" : "sandbox_impersonate", { address });
  return say(done, `${shortId(address)} ${stops ? "needs signatures again" : "acts without signatures"}.`, json, io);
}

interface Status {
  latestLedger: number;
  protocolVersion: number;
  impersonated: string[];
  fork?: { ledger: number; laterEntries: { key: unknown; ledger: number }[] };
}

async function status({ info, json, io }: Called): Promise<number> {
  const found = await callSandbox<Status>(info.rpc, "sandbox_status");
  const { latestLedger, protocolVersion, impersonated, fork } = found;
  const lines = [
    `The network is at ledger ${latestLedger}, protocol ${protocolVersion}.`,
    ...impersonated.map((address) => `Acts without signatures: ${address}`),
    ...(fork ? [`It continues ledger ${fork.ledger} of another network.`] : []),
    ...(fork?.laterEntries ?? []).map(({ key, ledger }) =>
      `Newer than the fork, changed in ledger ${ledger}: ${JSON.stringify(key)}`
    ),
  ];
  return say(found, lines.join("\n"), json, io);
}

function tipLine({ latestLedger, latestLedgerCloseTime }: Tip): string {
  const time = new Date(Number(latestLedgerCloseTime) * 1000).toISOString().replace("T", " ").replace(".000Z", " UTC");
  return `The network is at ledger ${latestLedger}, ${time}.`;
}

function say(answer: unknown, line: string, json: boolean, { stdout }: CommandIo): number {
  stdout(`${json ? JSON.stringify(answer) : line}\n`);
  return 0;
}

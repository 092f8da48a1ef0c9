import { type Command, type CommandIo, readAction, refuseExtra, UsageError } from "./command.ts";
import { reportFailure } from "./failure.ts";
import { helpText } from "./help.ts";
import { didYouMean } from "../lib/nearest.ts";
import { visible } from "../lib/visible_text.ts";
import { roomOf } from "./terminal/line_width.ts";

export interface Listed {
  summary: string;
  /** Loads the command. Commands load on demand, so that `help` and `keygen` need not load the SDK. */
  load(): Promise<Command>;
}

/** Every command, in the order of the help. */
export const COMMANDS: Record<string, Listed> = {
  serve: { summary: "Run the gateway (the default command)", load: () => load(import("./serve.ts")) },
  sandbox: {
    summary: "Run the gateway with its own Stellar network, offline",
    load: () => load(import("./sandbox/sandbox.ts")),
  },
  listen: {
    summary: "Receive webhooks of a sandbox or gateway, print and forward them",
    load: () => load(import("./listen.ts")),
  },
  tail: {
    summary: "Print new events of a sandbox or gateway, and its history",
    load: () => load(import("./tail.ts")),
  },
  trigger: {
    summary: "Make the events of a card's life happen in a sandbox",
    load: () => load(import("./trigger.ts")),
  },
  explain: {
    summary: "Print the whole story of a payment, transaction or reference",
    load: () => load(import("./explain/explain.ts")),
  },
  export: {
    summary: "Write payments, transactions or events into a CSV or JSON Lines file",
    load: () => load(import("./export/export.ts")),
  },
  keygen: { summary: "Create an API key", load: () => load(import("./keygen.ts")) },
  keys: { summary: "List, show, enable, disable or delete API keys", load: () => load(import("./keys.ts")) },
  webhooks: {
    summary: "List webhooks and deliveries; replay, rotate or delete a webhook",
    load: () => load(import("./webhooks.ts")),
  },
  payments: { summary: "Acknowledge expired payments, or derive all again", load: () => load(import("./payments.ts")) },
  secrets: { summary: "Change the key that encrypts webhook secrets", load: () => load(import("./secrets.ts")) },
  doctor: {
    summary: "Check settings, store, node and contracts, and advise",
    load: () => load(import("./doctor/doctor.ts")),
  },
  store: {
    summary: "Move to another store: copy all of its data",
    load: () => load(import("./store.ts")),
  },
  reconcile: {
    summary: "Compare the log with the contracts, card by card and merchant by merchant",
    load: () => load(import("./reconcile.ts")),
  },
  report: {
    summary: "Sum up what each asset's escrow took in and paid out in a range of time",
    load: () => load(import("./report.ts")),
  },
  backup: { summary: "Back up the store while a gateway uses it", load: () => load(import("./backup.ts")) },
  verify: { summary: "Check the signature of a webhook", load: () => load(import("./verify.ts")) },
  "device-hash": { summary: "Print the deviceHash of a card's UID", load: () => load(import("./device_hash.ts")) },
  openapi: { summary: "Print the OpenAPI description of the HTTP API", load: () => load(import("./openapi.ts")) },
  version: { summary: "Print the version, or the licenses of all parts", load: () => load(import("./version.ts")) },
};

async function load(module: Promise<{ command: Command }>): Promise<Command> {
  return (await module).command;
}

const HELP = ["help", "--help", "-h"];
const VERSION = ["--version", "-V", "-v"];

/** Runs `gateway ARGS…` and returns its exit code: 0 done, 1 failed, 2 wrong command line. */
export async function runCommandLine(args: string[], processIo: CommandIo): Promise<number> {
  const io = withVisibleOutput(processIo);
  const [first, ...rest] = args;
  const called = first !== undefined && isCommand(first) ? first : undefined;
  try {
    if (first !== undefined && HELP.includes(first)) return await help(rest, io);
    if (first !== undefined && VERSION.includes(first)) return await run("version", rest, io);
    // `gateway` and `gateway --port 9000` serve.
    if (first === undefined || first.startsWith("-")) return await run("serve", args, io);
    if (called === undefined) throw unknownCommand(first);
    return await run(called, rest, io);
  } catch (error) {
    return reportFailure(called, error, io);
  }
}

/** Strangers choose some of the text that a command prints: names, URLs, answers. None of it may steer the terminal. */
function withVisibleOutput(io: CommandIo): CommandIo {
  // CSV has lines that end so.
  const stdout: CommandIo["stdout"] = (text) =>
    io.stdout(text.split("\r\n").map((line) => visible(line, "\n\t")).join("\r\n"));
  return Object.assign(Object.create(io), { stdout });
}

async function run(name: string, args: string[], io: CommandIo): Promise<number> {
  try {
    if (args.includes("--help") || args.includes("-h")) return await help([name], io);
    return await (await COMMANDS[name]!.load()).run(args, io);
  } catch (error) {
    return reportFailure(name, error, io);
  }
}

async function help([name, ...more]: string[], io: CommandIo): Promise<number> {
  if (name === undefined || HELP.includes(name)) {
    refuseExtra(more);
    io.stdout(overview(roomOf(io)));
    return 0;
  }
  if (!isCommand(name)) throw unknownCommand(name);
  const { actions, help } = await COMMANDS[name]!.load();
  try {
    // The help of `keys list` is that of `keys`.
    if (actions !== undefined && more.length > 0) readAction(more.shift(), actions);
    refuseExtra(more);
  } catch (error) {
    return reportFailure(name, error, io);
  }
  io.stdout(help(roomOf(io)));
  return 0;
}

function isCommand(name: string): boolean {
  return Object.hasOwn(COMMANDS, name);
}

function overview(room: number): string {
  const text = helpText({
    usage: ["[COMMAND] [FLAGS]", "help COMMAND"],
    about: "A self-hosted, non-custodial HTTP gateway for the payment-escrow contracts on Stellar.",
    lists: {
      "Start here": [
        ["offline", "gateway sandbox, then in two more terminals gateway listen and gateway trigger"],
        ["on testnet", "gateway keygen --name my-app --scopes read,write,webhooks, then gateway serve"],
        ["in trouble", "gateway doctor"],
      ],
      Commands: Object.entries(COMMANDS).map(([name, { summary }]) => [name, summary]),
    },
    exitCodes: [
      ["0", "Done"],
      ["1", "Failed; the last line names the cause"],
      ["2", "Wrong command line or setting; the message names the flag, argument or setting"],
    ],
    examples: [
      "gateway sandbox",
      "gateway keygen --name my-app --scopes read,write,webhooks && gateway serve",
      "gateway help serve",
    ],
  });
  return text(room);
}

function unknownCommand(name: string): UsageError {
  const meant = didYouMean(name, [...Object.keys(COMMANDS), "help"]);
  return new UsageError(`there is no command ${JSON.stringify(name)}${meant}`);
}

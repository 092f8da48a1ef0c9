import type { Command, CommandIo } from "./command.ts";
import { reportFailure } from "./failure.ts";

interface Listed {
  summary: string;
  /** Loaded only when it runs: `help` and `keygen` must not wait for the SDK. */
  load(): Promise<Command>;
}

/** Every command, in the order of the help. */
const COMMANDS: Record<string, Listed> = {
  serve: { summary: "Run the gateway (what `gateway` alone does)", load: () => load(import("./serve.ts")) },
  sandbox: {
    summary: "Run the gateway on a Stellar network of its own, offline",
    load: () => load(import("./sandbox.ts")),
  },
  listen: {
    summary: "Receive, verify and print a running sandbox's webhooks",
    load: () => load(import("./listen.ts")),
  },
  trigger: { summary: "Make events happen in a running sandbox", load: () => load(import("./trigger.ts")) },
  keygen: { summary: "Create an API key", load: () => load(import("./keygen.ts")) },
  keys: { summary: "List, show, enable, disable or delete API keys", load: () => load(import("./keys.ts")) },
  webhooks: {
    summary: "List webhooks and their deliveries, replay or delete them",
    load: () => load(import("./webhooks.ts")),
  },
  secrets: { summary: "Change the key that encrypts webhook secrets", load: () => load(import("./secrets.ts")) },
  doctor: {
    summary: "Check settings, store, node and contracts, and say what to do",
    load: () => load(import("./doctor.ts")),
  },
  backup: { summary: "Copy the store while a gateway serves from it", load: () => load(import("./backup.ts")) },
  verify: { summary: "Check the signature of a webhook", load: () => load(import("./verify.ts")) },
  openapi: { summary: "Print the OpenAPI description", load: () => load(import("./openapi.ts")) },
  version: { summary: "Print the version", load: () => load(import("./version.ts")) },
};

async function load(module: Promise<{ command: Command }>): Promise<Command> {
  return (await module).command;
}

/** Runs `gateway ARGS…` and answers its exit code: 0 done, 1 failed, 2 called wrongly. */
export async function runCommandLine(args: string[], io: CommandIo): Promise<number> {
  const [first, ...rest] = args;
  if (first === "help" || first === "--help" || first === "-h") return await help(rest[0], io);
  if (first === "--version" || first === "-V") return await run("version", [], io);
  // `gateway` and `gateway --port 9000` serve.
  if (first === undefined || first.startsWith("-")) return await run("serve", args, io);
  if (!(first in COMMANDS)) return unknown(first, io);
  if (rest.includes("--help") || rest.includes("-h")) return await help(first, io);
  return await run(first, rest, io);
}

async function run(name: string, args: string[], io: CommandIo): Promise<number> {
  const command = await COMMANDS[name]!.load();
  try {
    return await command.run(args, io);
  } catch (error) {
    return reportFailure(name, error, io);
  }
}

async function help(name: string | undefined, io: CommandIo): Promise<number> {
  if (name === undefined) {
    io.stdout(overview());
    return 0;
  }
  if (!(name in COMMANDS)) return unknown(name, io);
  io.stdout((await COMMANDS[name]!.load()).help);
  return 0;
}

function overview(): string {
  const width = Math.max(...Object.keys(COMMANDS).map((name) => name.length));
  const lines = Object.entries(COMMANDS).map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`);
  return `gateway: a self-hosted, non-custodial HTTP gateway for the payment-escrow contracts on Stellar

Usage: gateway [COMMAND] [FLAGS]

Commands:
${lines.join("\n")}

Try it offline:     gateway sandbox, then in two more terminals: gateway listen, gateway trigger
Run it on testnet:  gateway keygen --name my-app --scopes read,write,webhooks && gateway serve
More of a command:  gateway help COMMAND
`;
}

function unknown(name: string, io: CommandIo): number {
  const near = Object.keys(COMMANDS).find((known) => known.startsWith(name.slice(0, 2)));
  io.stderr(
    `gateway: there is no command ${JSON.stringify(name)}${near ? `; did you mean ${near}?` : ""}\nSee: gateway help\n`,
  );
  return 2;
}

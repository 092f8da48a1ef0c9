import { type Command, type CommandIo, integerFlag, UsageError } from "../command.ts";
import { helpText } from "../help.ts";
import { leaveSoon, untilAskedToStop } from "../running.ts";
import { SANDBOX_ENVIRONMENT, type SandboxFlags, startSandbox } from "./start.ts";
import { sandboxBanner } from "./banner.ts";
import { environmentRows, parseSettingFlags } from "../setting_flags.ts";
import { storeSetting } from "../store_setting.ts";

export const command: Command = {
  name: "sandbox",
  summary: "Run the gateway on a Stellar network of its own, offline",
  help: helpText({
    usage: ["sandbox [FLAGS]"],
    about:
      "Runs the whole product on a network of its own, in this process, offline: real contracts on the real Soroban " +
      "host, a Stellar RPC server for any SDK or CLI, a friendbot, three funded accounts and an API key with all scopes. " +
      'When it is ready it prints what you need to try it; then, from other terminals, "gateway listen" shows the ' +
      'webhooks and "gateway trigger" makes events happen.',
    flags: [
      ["--port N", "Port of the gateway; 0 picks a free one (8787)"],
      ["--rpc-port N", "Port of the Stellar RPC server and friendbot; 0 picks a free one (8000)"],
      ["--ledger-ms N", "How often a ledger closes, in milliseconds; 0: at once (1000)"],
      ["--store SETTING", "Where keys and history are kept, as for serve (a temporary file, removed on exit)"],
      ["--state FOLDER", "A folder that keeps store and ledger: a restart goes on where it was"],
      [
        "--json",
        "Print one line of JSON when ready, instead of the welcome: gateway, rpc, friendbot, store, networkPassphrase, " +
        "apiKey, contracts, asset, accounts",
      ],
      ["--log FORM", "Form of the log lines on standard error: auto, json or pretty (pretty)"],
      ["--log-level LEVEL", "Least level that is logged: debug, info, warn or error (warn)"],
    ],
    environment: environmentRows(SANDBOX_ENVIRONMENT),
    notes: "What else is set in the environment for serve is left alone.",
    examples: ["gateway sandbox", "gateway sandbox --ledger-ms 0 --json", "gateway sandbox --state ./sandbox"],
  }),
  run: async (args, io) => await sandbox(sandboxFlags(args), io),
};

async function sandbox(flags: SandboxFlags & { json: boolean }, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop((signal) => io.stderr(`gateway sandbox: ended at once by a second ${signal}\n`));
  const running = await startSandbox(flags, io);
  io.stdout(flags.json ? JSON.stringify(running.info) + "\n" : sandboxBanner(running.info, io.program));
  await stopAsked;
  await running.stop();
  return leaveSoon(0);
}

function sandboxFlags(args: string[]): SandboxFlags & { json: boolean } {
  const { settings, flags } = parseSettingFlags(args, ["port", "store", "log", "logLevel"], {
    "rpc-port": "text",
    "ledger-ms": "text",
    "state": "text",
    "json": "switch",
  });
  if (flags.state !== undefined && settings.store !== undefined) {
    throw new UsageError("--state and --store exclude each other: --state keeps the store in its folder");
  }
  if (settings.store !== undefined) storeSetting(settings.store, {}, { isMemoryAllowed: true });
  return {
    settings: { log: "pretty", logLevel: "warn", ...settings },
    rpcPort: integerFlag("--rpc-port", flags["rpc-port"] ?? "8000", { min: 0, max: 65_535 }),
    ledgerMs: integerFlag("--ledger-ms", flags["ledger-ms"] ?? "1000", { min: 0, max: 60_000 }),
    stateFolder: flags.state,
    json: flags.json === true,
  };
}

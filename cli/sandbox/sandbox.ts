import type { Command, CommandIo } from "../command.ts";
import { helpText } from "../help.ts";
import { leaveSoon, untilAskedToStop } from "../running.ts";
import { environmentRows } from "../setting_flags.ts";
import { sandboxBanner } from "./banner.ts";
import { SANDBOX_ENVIRONMENT, SANDBOX_FLAG_ROWS, type SandboxFlags, sandboxFlags } from "./flags.ts";
import { SANDBOX_ROW } from "./running_sandbox.ts";
import { runAction, SANDBOX_ACTION_ROWS, SANDBOX_ACTIONS } from "./tools.ts";

export const command: Command = {
  help: helpText({
    usage: ["sandbox [FLAGS]", "sandbox ACTION [--sandbox URL] [--json]"],
    about:
      "Runs the gateway with its own Stellar network, offline, to try it and to develop against it. It has the real " +
      "contracts on the real Soroban host, a Stellar RPC server for any SDK or CLI, a friendbot, three funded accounts " +
      "and an API key with all scopes.\n\n" +
      'When it is ready it prints addresses, keys and commands. In other terminals "gateway listen" shows webhooks and ' +
      '"gateway trigger" makes events happen.',
    lists: { "Actions on a running sandbox": [...SANDBOX_ACTION_ROWS, SANDBOX_ROW] },
    flags: SANDBOX_FLAG_ROWS,
    environment: environmentRows(SANDBOX_ENVIRONMENT),
    notes: "The sandbox ignores all other variables of serve.\n\n" +
      "The gateway uses the time of its network. After advance it signs webhooks with a time ahead of your machine, so a " +
      "receiver that checks the age of signatures must use the network's time too. SDKs count the time bounds of a " +
      "transaction from your machine's clock. After advance count them from the close time of the latest ledger, or set " +
      "none.\n\n" +
      "After revert the history of the gateway keeps the undone events, as after a network reset.",
    examples: [
      "gateway sandbox",
      "gateway sandbox --ledger-ms 0 --json",
      "gateway sandbox --state ./sandbox",
      'gateway sandbox --network-passphrase "Standalone Network ; February 2017"',
      "gateway sandbox --fork https://soroban-testnet.stellar.org",
      "gateway sandbox snapshot clean && gateway trigger && gateway sandbox revert clean",
      'eval "$(gateway sandbox env)"',
    ],
  }),
  actions: SANDBOX_ACTIONS,
  async run(args, io) {
    const isAction = args[0] !== undefined && !args[0].startsWith("-");
    return await (isAction ? runAction(args, io) : sandbox(sandboxFlags(args), io));
  },
};

async function sandbox(flags: SandboxFlags, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop((signal) => io.stderr(`gateway sandbox: ends at a second ${signal}\n`));
  // Not imported at the top, because the actions need not load it.
  const { startSandbox } = await import("./start.ts");
  const running = await startSandbox(flags, io);
  try {
    io.stdout(flags.json ? JSON.stringify(running.info) + "\n" : sandboxBanner(running.info, io.program));
    await stopAsked;
  } finally {
    // Also when standard output is closed: a running server would keep the process alive.
    await running.stop();
  }
  return leaveSoon(0);
}

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
      "Runs the whole product on a network of its own, in this process, offline: real contracts on the real Soroban " +
      "host, a Stellar RPC server for any SDK or CLI, a friendbot, three funded accounts and an API key with all scopes. " +
      'When it is ready it prints what you need to try it; then, from other terminals, "gateway listen" shows the ' +
      'webhooks and "gateway trigger" makes events happen.',
    lists: { "Actions on a running sandbox": [...SANDBOX_ACTION_ROWS, SANDBOX_ROW] },
    flags: SANDBOX_FLAG_ROWS,
    environment: environmentRows(SANDBOX_ENVIRONMENT),
    notes: "What else is set in the environment for serve is left alone.\n\n" +
      "The gateway goes by the network's time. After advance its webhooks are signed with a time ahead of the machine's: " +
      "a receiver of your own that checks how fresh a signature is needs to be as far ahead. SDKs count a " +
      "transaction's time bound from the machine's clock: after advance count it from the latest ledger's close time, or " +
      "set none. What revert undoes stays in the gateway's history: to it the network was reset.",
    examples: [
      "gateway sandbox",
      "gateway sandbox --ledger-ms 0 --json",
      "gateway sandbox --state ./sandbox",
      'gateway sandbox --network-passphrase "Standalone Network ; February 2017"',
      "gateway sandbox --fork https://soroban-testnet.stellar.org",
      "gateway sandbox snapshot clean && gateway trigger && gateway sandbox revert clean",
    ],
  }),
  actions: SANDBOX_ACTIONS,
  async run(args, io) {
    const isAction = args[0] !== undefined && !args[0].startsWith("-");
    return await (isAction ? runAction(args, io) : sandbox(sandboxFlags(args), io));
  },
};

async function sandbox(flags: SandboxFlags, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop((signal) => io.stderr(`gateway sandbox: ended at once by a second ${signal}\n`));
  // Loaded here: what acts on a running sandbox must not wait for what makes one.
  const { startSandbox } = await import("./start.ts");
  const running = await startSandbox(flags, io);
  try {
    io.stdout(flags.json ? JSON.stringify(running.info) + "\n" : sandboxBanner(running.info, io.program));
    await stopAsked;
  } finally {
    // Where nobody reads its output, too: what runs keeps the process alive.
    await running.stop();
  }
  return leaveSoon(0);
}

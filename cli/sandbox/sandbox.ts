import type { Command, CommandIo } from "../command.ts";
import { helpText } from "../help.ts";
import { leaveSoon, untilAskedToStop } from "../running.ts";
import { environmentRows } from "../setting_flags.ts";
import { sandboxBanner } from "./banner.ts";
import { SANDBOX_FLAG_ROWS, type SandboxFlags, sandboxFlags } from "./flags.ts";
import { SANDBOX_ENVIRONMENT, startSandbox } from "./start.ts";

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
    flags: SANDBOX_FLAG_ROWS,
    environment: environmentRows(SANDBOX_ENVIRONMENT),
    notes: "What else is set in the environment for serve is left alone.",
    examples: ["gateway sandbox", "gateway sandbox --ledger-ms 0 --json", "gateway sandbox --state ./sandbox"],
  }),
  run: async (args, io) => await sandbox(sandboxFlags(args), io),
};

async function sandbox(flags: SandboxFlags, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop((signal) => io.stderr(`gateway sandbox: ended at once by a second ${signal}\n`));
  const running = await startSandbox(flags, io);
  io.stdout(flags.json ? JSON.stringify(running.info) + "\n" : sandboxBanner(running.info, io.program));
  await stopAsked;
  await running.stop();
  return leaveSoon(0);
}

import type { Operation } from "../lib/escrow/operations/operations.ts";
import { CARD_LIFE, type Step } from "./card_life.ts";
import { type Command, type CommandIo, parseFlags, refuseExtra, UsageError } from "./command.ts";
import { createGatewayApi, type GatewayApi } from "./gateway_api.ts";
import { helpText, jsonRow } from "./help.ts";
import { shortId } from "./delivery_line.ts";
import { didYouMean } from "../lib/nearest.ts";
import { findSandbox, SANDBOX_ROW, sandboxUrl, waitingFor } from "./sandbox/running_sandbox.ts";
import type { SandboxInfo } from "./sandbox/running_sandbox.ts";
import { roomOf } from "./terminal/line_width.ts";
import { cut } from "./terminal/text_width.ts";

const EVENTS = CARD_LIFE.map(({ event }) => event);

const FLAGS = [SANDBOX_ROW, jsonRow("event, deviceHash, hash, ledger", "step")] as const;

export const command: Command = {
  help: helpText({
    usage: ["trigger [EVENT] [--sandbox URL] [--json]"],
    about:
      "Makes an event happen in the sandbox on this machine, with a new card. Without EVENT the card lives its whole " +
      "life, with all nine events.\n\n" +
      "The gateway prepares each step, this command signs it with an account of the sandbox, and the gateway submits it. " +
      "The steps before EVENT happen first. The command waits 10 seconds for a sandbox to answer.",
    lists: { Events: CARD_LIFE.map(({ event, by }) => [event, `Signed by the ${by}`]) },
    flags: FLAGS,
    examples: ["gateway trigger", "gateway trigger payment.authorized --json"],
  }),
  async run(args, io) {
    const { flags, positionals: [event, ...more] } = parseFlags(args, FLAGS);
    refuseExtra(more);
    const steps = stepsFor(event);
    const sandbox = await findSandbox(sandboxUrl(flags.sandbox), waitingFor(io, "trigger"));
    return await trigger(steps, sandbox, flags.json === true, io);
  },
};

/** The steps that lead to an event, in order. Without an event: all steps. */
function stepsFor(event: string | undefined): Step[] {
  if (event === undefined) return CARD_LIFE;
  const last = CARD_LIFE.find((step) => step.event === event);
  if (last === undefined) {
    const meant = didYouMean(event, EVENTS);
    throw new UsageError(`EVENT must be one of ${EVENTS.join(", ")}; got ${JSON.stringify(event)}${meant}`);
  }
  return CARD_LIFE.filter((step) => step === last || last.needs.includes(step.event));
}

async function trigger(steps: Step[], sandbox: SandboxInfo, json: boolean, io: CommandIo): Promise<number> {
  const api = createGatewayApi(sandbox.gateway, sandbox.apiKey);
  const deviceHash = crypto.getRandomValues(new Uint8Array(32)).toHex();
  if (!json) io.stdout(`A new card: ${deviceHash}\n`);
  for (const step of steps) {
    const operation = step.operation({ ...sandbox, deviceHash });
    const { hash, ledger } = await write(api, sandbox.accounts[step.by], operation);
    io.stdout(
      json
        ? JSON.stringify({ event: step.event, deviceHash, hash, ledger }) + "\n"
        : stepLine(step, ledger, hash, roomOf(io)),
    );
  }
  return 0;
}

/** One line of at most `room` characters, with a short hash where the whole one does not fit. */
export function stepLine(
  { event, by }: Pick<Step, "event" | "by">,
  ledger: number,
  hash: string,
  room: number,
): string {
  const begun = `${event.padEnd(18)}  signed by the ${by.padEnd(8)}  ledger ${ledger}  `;
  return cut(begun.length + hash.length <= room ? begun + hash : begun + shortId(hash), room) + "\n";
}

/** One write: the gateway prepares it, the account's key signs it here, the gateway submits it. */
async function write(
  api: GatewayApi,
  { address, secret }: { address: string; secret: string },
  operation: Operation,
): Promise<{ hash: string; ledger: number }> {
  const prepared = await api.request<{ xdr: string; networkPassphrase: string }>(
    "POST",
    "/v1/transactions/prepare",
    { source: address, operation },
  );
  // Not imported at the top, because `gateway help trigger` must not load the SDK.
  const { Keypair, TransactionBuilder } = await import("@stellar/stellar-sdk/base");
  const transaction = TransactionBuilder.fromXdr(prepared.xdr, prepared.networkPassphrase);
  transaction.sign(Keypair.fromSecret(secret));
  return await api.request("POST", "/v1/transactions/submit", { xdr: transaction.toXdr() });
}

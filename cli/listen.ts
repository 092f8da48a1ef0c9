import {
  type Command,
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { GATEWAY_KEY_ROW, gatewayUrl, httpUrl, readGatewayKey } from "./gateway_flags.ts";
import { helpText } from "./help.ts";
import { FILTER_ROWS, filterOf } from "./event_filter.ts";
import { SANDBOX_ROW, sandboxUrl } from "./sandbox/running_sandbox.ts";

const FLAGS = [
  ["--gateway URL", "The gateway to listen to (the sandbox's)"],
  ["--forward-to URL", "Where each event is posted: http://127.0.0.1:3000/webhooks. The answer to it is shown"],
  ...FILTER_ROWS,
  ["--port N", "Port to receive the sandbox's webhooks at; 0 picks a free one (0)"],
  ["--answer CODE", "HTTP status to answer them with (204); with 500 you see how deliveries are tried again"],
  SANDBOX_ROW,
  ["--json", "Print the body of each delivery, a line each, and nothing else"],
] as const;

export const command: Command = {
  help: helpText({
    usage: ["listen [FLAGS]", "listen --gateway URL [FLAGS]"],
    about: "Shows what webhooks deliver, while you develop.\n\n" +
      "Of the sandbox that runs on this machine it receives real ones: it makes a webhook that points here, checks the " +
      "signature of each delivery, prints it, and deletes the webhook when it ends. A sandbox that is just starting is " +
      "waited for, ten seconds until it answers.\n\n" +
      "Of any other gateway, which delivers to public https:// URLs alone, it asks for the events from now on with a key " +
      "that may read: the one in SERVICE_API_KEY, or on standard input.\n\n" +
      "With --forward-to each goes to a receiver of yours as well, signed as webhooks are, with a secret that is made " +
      "for this session and told once.",
    flags: FLAGS,
    environment: [GATEWAY_KEY_ROW],
    examples: [
      "gateway listen",
      "gateway listen --types payment.authorized --json | jq .event.amount",
      "gateway listen --answer 500",
      "gateway listen --forward-to http://127.0.0.1:3000/webhooks",
      "SERVICE_API_KEY=… gateway listen --gateway https://gateway.example.com",
    ],
  }),
  async run(args, io) {
    const { flags, positionals } = parseFlags(args, FLAGS);
    refuseExtra(positionals);
    const forwardTo = httpUrl("--forward-to", flags["forward-to"]);
    if (forwardTo !== undefined && flags.answer !== undefined) {
      throw new UsageError("--forward-to and --answer exclude each other: the receiver's answer is passed on");
    }
    return flags.gateway === undefined
      ? await listenToSandbox(flags, forwardTo, io)
      : await listenToGateway(flags, forwardTo, io);
  },
};

async function listenToSandbox(flags: Flags<typeof FLAGS>, forwardTo: string | undefined, io: CommandIo) {
  const port = integerFlag("--port", flags.port ?? "0", { min: 0, max: 65_535 });
  const answer = integerFlag("--answer", flags.answer ?? "204", { min: 200, max: 599 });
  const sandbox = sandboxUrl(flags.sandbox);
  const filter = await filterOf(flags);
  const { listenByWebhook } = await import("./listening.ts");
  return await listenByWebhook({ sandbox, filter, port, answer, forwardTo, json: flags.json === true }, io);
}

async function listenToGateway(flags: Flags<typeof FLAGS>, forwardTo: string | undefined, io: CommandIo) {
  for (const flag of ["sandbox", "port", "answer"] as const) {
    if (flags[flag] !== undefined) {
      throw new UsageError(`--${flag} is for the webhooks of a sandbox, not for --gateway`);
    }
  }
  const gateway = gatewayUrl(flags.gateway)!;
  const filter = await filterOf(flags);
  const apiKey = await readGatewayKey(io);
  const { listenToAny } = await import("./listening.ts");
  return await listenToAny({ gateway, apiKey, filter, forwardTo, json: flags.json === true }, io);
}

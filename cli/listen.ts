import {
  type Command,
  type CommandIo,
  type Flags,
  httpUrl,
  integerFlag,
  parseFlags,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { GATEWAY_KEY_ROW, gatewayUrl, readGatewayKey } from "./gateway_flags.ts";
import { helpText } from "./help.ts";
import { FILTER_ROWS, filterOf } from "./event_filter.ts";
import { SANDBOX_ROW, sandboxUrl } from "./sandbox/running_sandbox.ts";

const FLAGS = [
  ["--gateway URL", "Listen to this gateway instead of the sandbox"],
  [
    "--forward-to URL",
    "Post each delivery to this URL too, such as http://127.0.0.1:3000/webhooks, and show its answer",
  ],
  ...FILTER_ROWS,
  ["--port N", "Port that receives the sandbox's webhooks; 0 picks a free one (default 0)"],
  ["--answer CODE", "HTTP status to answer deliveries with, 200 to 599; 500 shows the retries (default 204)"],
  SANDBOX_ROW,
  ["--json", "Print only the body of each delivery, one per line"],
] as const;

export const command: Command = {
  help: helpText({
    usage: ["listen [FLAGS]", "listen --gateway URL [FLAGS]"],
    about: "Shows webhook deliveries while you develop.\n\n" +
      "With a sandbox on this machine it receives real webhooks. It creates a webhook that points here, checks the " +
      "signature of each delivery and prints it. At its end it deletes the webhook. It waits 10 seconds for a sandbox " +
      "to answer.\n\n" +
      "Any other gateway delivers only to public https:// URLs. From such a gateway it reads the new events with an API " +
      "key: SERVICE_API_KEY, or standard input.\n\n" +
      "With --forward-to it also posts each delivery to your receiver, signed like a webhook. It prints the secret of " +
      "this session once.",
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
      throw new UsageError("--forward-to and --answer exclude each other: the gateway gets the receiver's answer");
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
      throw new UsageError(`--${flag} is for a sandbox: leave out --${flag} or --gateway`);
    }
  }
  const gateway = gatewayUrl(flags.gateway)!;
  const filter = await filterOf(flags);
  const apiKey = await readGatewayKey(io);
  const { listenToAny } = await import("./listening.ts");
  return await listenToAny({ gateway, apiKey, filter, forwardTo, json: flags.json === true }, io);
}

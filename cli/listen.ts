import { clearInterval, setInterval } from "node:timers";
import { verifyWebhook } from "../lib/client/verify_webhook.ts";
import type { PublicEvent } from "../lib/events/public_event.ts";
import { serveHttp } from "../lib/runtime/serve.ts";
import {
  type Command,
  CommandError,
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  UsageError,
} from "./command.ts";
import { createGatewayApi, type GatewayApi } from "./gateway_api.ts";
import { leaveSoon, untilAskedToStop } from "./running.ts";
import { findSandbox, STANDARD_SANDBOX } from "./running_sandbox.ts";
import { sandboxFlag } from "./sandbox_banner.ts";

const FLAGS = {
  "types": "text",
  "device-hash": "text",
  "merchant": "text",
  "port": "text",
  "answer": "text",
  "sandbox": "text",
  "json": "switch",
} as const;

const HOST = "127.0.0.1";
/** A delivery is far smaller; the gateway always says how large one is. */
const MAX_BODY_BYTES = 64 * 1024;
const IDLE_TIMEOUT_MS = 60_000;
const DRAIN_MS = 500;
/** How often it is looked whether the gateway is still there. */
const LOOK_MS = 2_000;

export const command: Command = {
  name: "listen",
  summary: "Receive, verify and print a running sandbox's webhooks",
  help: `Usage: gateway listen [FLAGS]

Receives webhooks of the sandbox that runs on this machine: makes a webhook that points here,
checks the signature of each delivery, prints it, and deletes the webhook when it ends. Only a
sandbox delivers to this machine; any other gateway delivers to public https:// URLs alone.

  --types LIST       only these events, comma-separated (payment.authorized,payment.claimed)
  --device-hash HEX  only events of this card
  --merchant G…      only events of this merchant
  --port N           port to receive at; a free one unless told otherwise
  --answer CODE      HTTP status to answer with (204); with 500 you see how deliveries are tried again
  --sandbox URL      Stellar RPC of the sandbox (${STANDARD_SANDBOX})
  --json             print each delivery's body, a line each, and nothing else

Examples:
  gateway listen
  gateway listen --types payment.authorized --json | jq .event.amount
`,
  async run(args, io) {
    const { flags, positionals } = parseFlags(args, FLAGS);
    if (positionals.length > 0) throw new UsageError(`unexpected ${JSON.stringify(positionals[0])}`);
    const port = integerFlag("--port", flags.port ?? "0", { min: 0, max: 65_535 });
    const answer = integerFlag("--answer", flags.answer ?? "204", { min: 200, max: 599 });
    return await listen({ flags, port, answer }, io);
  },
};

interface Listening {
  flags: Flags<typeof FLAGS>;
  port: number;
  answer: number;
}

async function listen({ flags, port, answer }: Listening, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop(() => {});
  const { gateway, apiKey, rpc } = await findSandbox(flags.sandbox ?? STANDARD_SANDBOX);
  const api = createGatewayApi(gateway, apiKey);
  // Nothing is delivered before the webhook is there, so its secret is known when the first one comes.
  const webhook = { secret: "" };
  const receive = receiver(webhook, { answer, json: flags.json === true }, io);
  const server = await serveHttp({ hostname: HOST, port, idleTimeoutMs: IDLE_TIMEOUT_MS, fetch: receive });
  try {
    const { id, secret } = await api.request<{ id: string; secret: string }>("POST", "/v1/webhooks", {
      url: `${server.url}/`,
      types: flags.types?.split(",").map((type) => type.trim()),
      deviceHash: flags["device-hash"],
      merchant: flags.merchant,
    });
    webhook.secret = secret;
    if (!flags.json) {
      io.stdout(`Listening at ${server.url} with webhook ${id} of ${gateway}. Ctrl-C ends it.\n`);
      io.stdout(`In another terminal: ${io.program} trigger${sandboxFlag(rpc)}\n\n`);
    }
    return await untilOver({ api, id, stopAsked, gateway });
  } finally {
    await server.stop({ drainMs: DRAIN_MS });
  }
}

/** Waits for a signal, then deletes the webhook, and answers the exit code; throws when the gateway has gone. */
async function untilOver(
  { api, id, stopAsked, gateway }: { api: GatewayApi; id: string; stopAsked: Promise<unknown>; gateway: string },
): Promise<number> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const isGone = new Promise<Error>((resolve) => {
    timer = setInterval(() => void api.request("GET", `/v1/webhooks/${id}`).catch(resolve), LOOK_MS);
  });
  const gone = await Promise.race([stopAsked.then(() => undefined), isGone]);
  clearInterval(timer);
  if (gone !== undefined) {
    throw new CommandError(`the webhook at ${gateway} is gone: ${gone.message}`);
  }
  await api.request("DELETE", `/v1/webhooks/${id}`);
  return leaveSoon(0);
}

/** Checks, prints and answers what comes; an answer that is no success makes the gateway try again or give up. */
function receiver(webhook: { secret: string }, { answer, json }: { answer: number; json: boolean }, io: CommandIo) {
  return async (request: Request): Promise<Response> => {
    const length = Number(request.headers.get("Content-Length") ?? Number.NaN);
    if (request.method !== "POST" || !(length <= MAX_BODY_BYTES)) return new Response(null, { status: 400 });
    const body = new Uint8Array(await request.arrayBuffer());
    const { headers } = request;
    const verified = await verifyWebhook({ body, headers, secret: webhook.secret, nowMs: io.now() });
    if (!verified.ok) {
      io.stderr(`gateway listen: a request that the gateway did not sign was refused: ${verified.message}\n`);
      return new Response(null, { status: 400 });
    }
    const text = new TextDecoder().decode(body);
    io.stdout(json ? `${text}\n` : deliveryLine(JSON.parse(text).event, answer, io.now()));
    return new Response(null, { status: answer });
  };
}

/** `12:00:05  payment.authorized  signed, answered 204  ledger 7  card 9a41…07e2  merchant GDIY…K4QL  amount 40000000` */
function deliveryLine(event: PublicEvent, answer: number, nowMs: number): string {
  const short = (text: string) => `${text.slice(0, 4)}…${text.slice(-4)}`;
  const { deviceHash, agent, merchant, amount } = event;
  const words = [
    new Date(nowMs).toTimeString().slice(0, 8),
    event.type.padEnd(18),
    `signature right, answered ${answer}`,
    `ledger ${event.ledger}`,
    ...(deviceHash === undefined ? [] : [`card ${short(deviceHash)}`]),
    ...(agent === undefined ? [] : [`agent ${short(agent)}`]),
    ...(merchant === undefined ? [] : [`merchant ${short(merchant)}`]),
    ...(amount === undefined ? [] : [`amount ${amount}`]),
  ];
  return words.join("  ") + "\n";
}

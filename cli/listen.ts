import { clearInterval, setInterval } from "node:timers";
import { verifyWebhook } from "../lib/client/verify_webhook.ts";
import { serveHttp } from "../lib/runtime/serve.ts";
import { type Command, CommandError, type CommandIo, integerFlag, parseFlags, refuseExtra } from "./command.ts";
import { createGatewayApi, type GatewayApi } from "./gateway_api.ts";
import { helpText } from "./help.ts";
import { type Filter, FILTER_FLAGS, filterOf } from "./listen_filter.ts";
import { deliveryLine } from "./listen_line.ts";
import { leaveSoon, untilAskedToStop } from "./running.ts";
import { findSandbox, networkTime, SANDBOX_ROW, sandboxUrl } from "./sandbox/running_sandbox.ts";
import { sandboxFlag } from "./sandbox/banner.ts";
import { commandToCopy, roomOf, sentence } from "./terminal/wrap.ts";

const FLAGS = {
  ...FILTER_FLAGS,
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
  help: helpText({
    usage: ["listen [FLAGS]"],
    about: "Receives webhooks of the sandbox that runs on this machine: makes a webhook that points here, checks the " +
      "signature of each delivery, prints it, and deletes the webhook when it ends. Only a sandbox delivers to this " +
      "machine; any other gateway delivers to public https:// URLs alone.",
    flags: [
      ["--types LIST", "Only these events, comma-separated: payment.authorized,payment.claimed (all)"],
      ["--device-hash HEX", "Only events of this card"],
      ["--merchant ADDRESS", "Only events of this merchant: G… or C…"],
      ["--port N", "Port to receive at; 0 picks a free one (0)"],
      ["--answer CODE", "HTTP status to answer with (204); with 500 you see how deliveries are tried again"],
      SANDBOX_ROW,
      ["--json", "Print each delivery's body, a line each, and nothing else"],
    ],
    examples: [
      "gateway listen",
      "gateway listen --types payment.authorized --json | jq .event.amount",
      "gateway listen --answer 500",
    ],
  }),
  async run(args, io) {
    const { flags, positionals } = parseFlags(args, FLAGS);
    refuseExtra(positionals);
    const port = integerFlag("--port", flags.port ?? "0", { min: 0, max: 65_535 });
    const answer = integerFlag("--answer", flags.answer ?? "204", { min: 200, max: 599 });
    const sandbox = sandboxUrl(flags.sandbox);
    return await listen({ sandbox, filter: await filterOf(flags), port, answer, json: flags.json === true }, io);
  },
};

interface Listening {
  /** Its RPC server. */
  sandbox: string;
  filter: Filter;
  port: number;
  answer: number;
  json: boolean;
}

async function listen({ sandbox, filter, port, answer, json }: Listening, io: CommandIo): Promise<number> {
  const stopAsked = untilAskedToStop(() => {});
  const { gateway, apiKey, rpc } = await findSandbox(sandbox);
  const api = createGatewayApi(gateway, apiKey);
  // Nothing is delivered before the webhook is there, so its secret is known when the first one comes.
  const webhook = { secret: "" };
  const unprinted = Promise.withResolvers<Error>();
  const receive = receiver(webhook, { rpc, answer, json, onUnprinted: unprinted.resolve }, io);
  const server = await serveHttp({ hostname: HOST, port, idleTimeoutMs: IDLE_TIMEOUT_MS, fetch: receive });
  try {
    const { id, secret } = await api.request<{ id: string; secret: string }>("POST", "/v1/webhooks", {
      url: `${server.url}/`,
      ...filter,
    });
    webhook.secret = secret;
    try {
      if (!json) {
        io.stdout(sentence(`Listening at ${server.url} with webhook ${id} of ${gateway}. Ctrl-C ends it.`, roomOf(io)));
        io.stdout(commandToCopy("In another terminal:", `${io.program} trigger${sandboxFlag(rpc)}`, roomOf(io)) + "\n");
      }
    } catch (error) {
      unprinted.resolve(error as Error);
    }
    return await untilOver({ api, id, stopAsked, unprinted: unprinted.promise, gateway });
  } finally {
    await server.stop({ drainMs: DRAIN_MS });
  }
}

interface Awaited {
  api: GatewayApi;
  /** Of the webhook. */
  id: string;
  stopAsked: Promise<unknown>;
  /** Settles when nobody reads what is printed any more. */
  unprinted: Promise<Error>;
  gateway: string;
}

/** Waits for a signal, then deletes the webhook, and answers the exit code; throws when gateway or reader have gone. */
async function untilOver({ api, id, stopAsked, unprinted, gateway }: Awaited): Promise<number> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const isGone = new Promise<Error>((resolve) => {
    const tell = ({ message }: Error) => resolve(new CommandError(`the webhook at ${gateway} is gone: ${message}`));
    timer = setInterval(() => void api.request("GET", `/v1/webhooks/${id}`).catch(tell), LOOK_MS);
  });
  const failure = await Promise.race([stopAsked.then(() => undefined), unprinted, isGone]);
  clearInterval(timer);
  if (failure instanceof CommandError) throw failure;
  await api.request("DELETE", `/v1/webhooks/${id}`);
  if (failure !== undefined) throw failure;
  return leaveSoon(0);
}

/** Checks, prints and answers what comes; an answer that is no success makes the gateway try again or give up. */
function receiver(
  webhook: { secret: string },
  { rpc, answer, json, onUnprinted }: {
    rpc: string;
    answer: number;
    json: boolean;
    onUnprinted(error: Error): void;
  },
  io: CommandIo,
) {
  /** The sandbox signs with its network's time, which may have been moved. */
  async function verify(body: Uint8Array, headers: Headers) {
    const signed = { body, headers, secret: webhook.secret };
    const verified = await verifyWebhook({ ...signed, nowMs: io.now() });
    if (verified.ok || verified.reason !== "timestamp_out_of_tolerance") return verified;
    return await verifyWebhook({ ...signed, nowMs: await networkTime(rpc) });
  }

  return async (request: Request): Promise<Response> => {
    const length = Number(request.headers.get("Content-Length") ?? Number.NaN);
    if (request.method !== "POST" || !(length <= MAX_BODY_BYTES)) return new Response(null, { status: 400 });
    const body = new Uint8Array(await request.arrayBuffer());
    const { headers } = request;
    const verified = await verify(body, headers);
    if (!verified.ok) {
      io.stderr(`gateway listen: a request that the gateway did not sign was refused: ${verified.message}\n`);
      return new Response(null, { status: 400 });
    }
    const text = new TextDecoder().decode(body);
    try {
      io.stdout(json ? `${text}\n` : deliveryLine(JSON.parse(text).event, answer, io.now(), roomOf(io)));
    } catch (error) {
      onUnprinted(error as Error);
      return new Response(null, { status: 503 });
    }
    return new Response(null, { status: answer });
  };
}

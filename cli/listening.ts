import { clearInterval, setInterval } from "node:timers";
import type { GatewayEvent } from "../lib/client/client.ts";
import { verifyWebhook } from "../lib/client/verify_webhook.ts";
import { secureRandom } from "../lib/random.ts";
import { serveHttp } from "../lib/runtime/serve.ts";
import { createSecret, signatureHeaders, signingSecret } from "../lib/webhooks/delivery/signature.ts";
import { CommandError, type CommandIo } from "./command.ts";
import { answeredWith, deliveryLine, forwardedWith } from "./delivery_line.ts";
import type { Filter } from "./event_filter.ts";
import { follow } from "./follow.ts";
import { createGatewayApi, type GatewayApi } from "./gateway_api.ts";
import { leaveSoon, untilAskedToStop } from "./running.ts";
import { sandboxFlag } from "./sandbox/banner.ts";
import { findSandbox, networkTime, waitingFor } from "./sandbox/running_sandbox.ts";
import { commandToCopy, roomOf, sentence } from "./terminal/line_width.ts";

interface Listening {
  filter: Filter;
  /** Who gets each event, signed, and answers it; undefined: nobody. */
  forwardTo: string | undefined;
  json: boolean;
}

const HOST = "127.0.0.1";
/** A delivery is far smaller; the gateway always says how large one is. */
const MAX_BODY_BYTES = 64 * 1024;
const IDLE_TIMEOUT_MS = 60_000;
const DRAIN_MS = 500;
/** What a delivery is answered with that was forwarded and found no answer: it is tried again. */
const NO_ANSWER = 502;
/** How often it is looked whether the gateway is still there. */
const LOOK_MS = 2_000;

export interface WebhookListening extends Listening {
  /** Its RPC server. */
  sandbox: string;
  port: number;
  /** What deliveries are answered with, unless they are forwarded. */
  answer: number;
}

/**
 * Receives the webhooks of a sandbox: makes one that points here, checks what comes, prints it, hands it on and answers it,
 * and deletes the webhook in the end. Answers the exit code.
 * @throws {CommandError} when the sandbox or the reader of what is printed has gone
 */
export async function listenByWebhook(options: WebhookListening, io: CommandIo): Promise<number> {
  const { sandbox, filter, port, forwardTo, json } = options;
  const { gateway, apiKey, rpc } = await findSandbox(sandbox, waitingFor(io, "listen"));
  // Not before: while it waits there is nothing to take back, and a signal just ends it.
  const stopAsked = untilAskedToStop(() => {});
  const api = createGatewayApi(gateway, apiKey);
  // Nothing is delivered before the webhook is there, so its secret is known when the first one comes.
  const webhook = { secret: "" };
  const unprinted = Promise.withResolvers<Error>();
  const receive = receiver(webhook, { ...options, rpc, onUnprinted: unprinted.resolve }, io);
  const server = await serveHttp({ hostname: HOST, port, idleTimeoutMs: IDLE_TIMEOUT_MS, fetch: receive });
  try {
    const { id, secret } = await api.request<{ id: string; secret: string }>("POST", "/v1/webhooks", {
      url: `${server.url}/`,
      ...filter,
    });
    webhook.secret = secret;
    if (json && forwardTo !== undefined) io.stderr(forwardingNotice(forwardTo, secret, Infinity));
    try {
      if (!json) {
        io.stdout(sentence(`Listening at ${server.url} with webhook ${id} of ${gateway}. Ctrl-C ends it.`, roomOf(io)));
        if (forwardTo !== undefined) io.stdout(forwardingNotice(forwardTo, secret, roomOf(io)));
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

interface Receiving extends Pick<WebhookListening, "answer" | "forwardTo" | "json"> {
  /** Of the sandbox. */
  rpc: string;
  onUnprinted(error: Error): void;
}

/** Checks, prints and answers what comes; an answer that is no success makes the gateway try again or give up. */
function receiver(
  webhook: { secret: string },
  { rpc, answer, forwardTo, json, onUnprinted }: Receiving,
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
    const status = forwardTo === undefined ? answer : await forward(forwardTo, text, signedHeaders(headers));
    const told = forwardTo === undefined ? answeredWith(answer) : forwardedWith(status);
    try {
      io.stdout(json ? `${text}\n` : deliveryLine(JSON.parse(text).event, told, io.now(), roomOf(io)));
    } catch (error) {
      onUnprinted(error as Error);
      return new Response(null, { status: 503 });
    }
    return new Response(null, { status: status ?? NO_ANSWER });
  };
}

export interface GatewayListening extends Listening {
  /** `https://…`, without a slash at its end. */
  gateway: string;
  apiKey: string;
}

/** Stands where a webhook has its id. */
const SUBSCRIPTION = "listen";

/**
 * Follows the events of any gateway that its key may read, from now on: prints each and hands it on, signed as a webhook is,
 * with a secret of this session. Answers the exit code once it was asked to stop.
 * @throws {CommandError} when the gateway refuses, or has not answered for a minute
 */
export async function listenToAny(options: GatewayListening, io: CommandIo): Promise<number> {
  const { gateway, apiKey, filter, forwardTo, json } = options;
  const secret = createSecret(secureRandom);
  const secrets = [signingSecret(secret)];

  async function tell(event: GatewayEvent): Promise<void> {
    const body = JSON.stringify({ subscription: SUBSCRIPTION, event });
    const proof = () => signatureHeaders({ secrets, eventId: event.id, body, nowMs: io.now() });
    const told = forwardTo === undefined ? undefined : forwardedWith(await forward(forwardTo, body, proof()));
    io.stdout(json ? `${body}\n` : deliveryLine(event, told, io.now(), roomOf(io)));
  }

  return await follow({
    command: "listen",
    gateway,
    apiKey,
    filter,
    onBegin(latestLedger) {
      if (!json) {
        io.stdout(sentence(`Listening to ${gateway} after ledger ${latestLedger}. Ctrl-C ends it.`, roomOf(io)));
        if (forwardTo !== undefined) io.stdout(forwardingNotice(forwardTo, secret, roomOf(io)));
        io.stdout("\n");
      } else if (forwardTo !== undefined) {
        io.stderr(forwardingNotice(forwardTo, secret, Infinity));
      }
    },
    onEvent: tell,
  }, io);
}

/** As long as the gateway itself waits for a receiver. */
const FORWARD_TIMEOUT_MS = 10_000;

/** The headers that prove a delivery. */
const PROOF = ["x-service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"];

/** Those of a delivery that came here which prove it: they go on with it. */
function signedHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(PROOF.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!]] : []));
}

/** Posts a signed body and answers the HTTP status; undefined: there was no answer. */
async function forward(
  url: string,
  body: string,
  proof: Record<string, string>,
): Promise<number | undefined> {
  const response = await fetch(url, {
    method: "POST",
    headers: { ...proof, "Content-Type": "application/json" },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(FORWARD_TIMEOUT_MS),
  }).catch(() => undefined);
  await response?.body?.cancel().catch(() => {});
  return response?.status;
}

/** Tells the receiver's owner where deliveries go and what they are signed with: this once. */
function forwardingNotice(url: string, secret: string, room: number): string {
  return sentence(`Each is forwarded to ${url}, signed with a secret of this session:`, room) + `  ${secret}\n`;
}

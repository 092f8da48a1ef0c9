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
  /** The receiver that gets each event, signed. Undefined: none. */
  forwardTo: string | undefined;
  json: boolean;
}

const HOST = "127.0.0.1";
/** A delivery is far smaller, and the gateway always sends its Content-Length. */
const MAX_BODY_BYTES = 64 * 1024;
const IDLE_TIMEOUT_MS = 60_000;
const DRAIN_MS = 500;
/** The status for a forwarded delivery that the receiver did not answer. The gateway retries it. */
const NO_ANSWER = 502;
/** Interval of the checks that the gateway still has the webhook. */
const CHECK_MS = 2_000;

export interface WebhookListening extends Listening {
  /** URL of its RPC server. */
  sandbox: string;
  port: number;
  /** HTTP status of the answers, unless deliveries are forwarded. */
  answer: number;
}

/**
 * Creates a webhook of a sandbox that points here, then checks, prints, forwards and answers its deliveries. At the end it
 * deletes the webhook. Returns the exit code.
 * @throws {CommandError} when the sandbox is gone, or the reader of the output
 */
export async function listenByWebhook(options: WebhookListening, io: CommandIo): Promise<number> {
  const { sandbox, filter, port, forwardTo, json } = options;
  const { gateway, apiKey, rpc } = await findSandbox(sandbox, waitingFor(io, "listen"));
  // Until here there is nothing to undo, so a signal may end the process.
  const stopAsked = untilAskedToStop(() => {});
  const api = createGatewayApi(gateway, apiKey);
  // The secret is set before the first delivery, which needs the webhook.
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
    return await untilEnd({ api, id, stopAsked, unprinted: unprinted.promise, gateway });
  } finally {
    await server.stop({ drainMs: DRAIN_MS });
  }
}

interface Awaited {
  api: GatewayApi;
  /** Of the webhook. */
  id: string;
  stopAsked: Promise<unknown>;
  /** Settles when a line cannot be printed. */
  unprinted: Promise<Error>;
  gateway: string;
}

/** Waits for a signal, deletes the webhook and returns the exit code. Throws when the gateway or the reader is gone. */
async function untilEnd({ api, id, stopAsked, unprinted, gateway }: Awaited): Promise<number> {
  let timer: ReturnType<typeof setInterval> | undefined;
  const isGone = new Promise<Error>((resolve) => {
    const fail = ({ message }: Error) => resolve(new CommandError(`the webhook at ${gateway} is gone: ${message}`));
    timer = setInterval(() => void api.request("GET", `/v1/webhooks/${id}`).catch(fail), CHECK_MS);
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

/** Returns the handler that checks, prints and answers deliveries. The gateway retries one that it answers with an error. */
function receiver(
  webhook: { secret: string },
  { rpc, answer, forwardTo, json, onUnprinted }: Receiving,
  io: CommandIo,
) {
  /** The sandbox signs with the time of its network, which `sandbox advance` may have moved. */
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
      io.stderr(`gateway listen: refused a request without the gateway's signature (${verified.message})\n`);
      return new Response(null, { status: 400 });
    }
    const text = new TextDecoder().decode(body);
    const status = forwardTo === undefined ? answer : await forward(forwardTo, text, signedHeaders(headers));
    const outcome = forwardTo === undefined ? answeredWith(answer) : forwardedWith(status);
    try {
      io.stdout(json ? `${text}\n` : deliveryLine(JSON.parse(text).event, outcome, io.now(), roomOf(io)));
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

/** Replaces the id of a webhook in forwarded bodies. */
const SUBSCRIPTION = "listen";

/**
 * Prints the new events of a gateway, and forwards each, signed like a webhook with a secret of this session. Returns the
 * exit code after a signal.
 * @throws {CommandError} when the gateway refuses, or does not answer for a minute
 */
export async function listenToAny(options: GatewayListening, io: CommandIo): Promise<number> {
  const { gateway, apiKey, filter, forwardTo, json } = options;
  const secret = createSecret(secureRandom);
  const secrets = [signingSecret(secret)];

  async function onEvent(event: GatewayEvent): Promise<void> {
    const body = JSON.stringify({ subscription: SUBSCRIPTION, event });
    const proof = () => signatureHeaders({ secrets, eventId: event.id, body, nowMs: io.now() });
    const outcome = forwardTo === undefined ? undefined : forwardedWith(await forward(forwardTo, body, proof()));
    io.stdout(json ? `${body}\n` : deliveryLine(event, outcome, io.now(), roomOf(io)));
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
    onEvent,
  }, io);
}

/** The gateway itself waits as long for a receiver. */
const FORWARD_TIMEOUT_MS = 10_000;

/** The headers that sign a delivery. */
const PROOF = ["x-service-signature", "webhook-id", "webhook-timestamp", "webhook-signature"];

/** The signing headers of a received delivery, to forward with it. */
function signedHeaders(headers: Headers): Record<string, string> {
  return Object.fromEntries(PROOF.flatMap((name) => headers.has(name) ? [[name, headers.get(name)!]] : []));
}

/** Posts a signed body and returns the HTTP status, undefined without an answer. */
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

/** The lines with the receiver and the secret of this session, which are printed once. */
function forwardingNotice(url: string, secret: string, room: number): string {
  return sentence(`Forwarding to ${url}. The signing secret of this session is`, room) + `  ${secret}\n`;
}

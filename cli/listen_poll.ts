import { sleep } from "../lib/clock.ts";
import type { PublicEvent } from "../lib/store/event.ts";
import { createSecret, signatureHeaders, signingSecret } from "../lib/webhooks/delivery/signature.ts";
import { CommandError, type CommandIo } from "./command.ts";
import type { Filter } from "./listen_filter.ts";
import { forward, forwardingNotice } from "./listen_forward.ts";
import { deliveryLine, forwardedWith } from "./listen_line.ts";
import { leaveSoon, untilAskedToStop } from "./running.ts";
import { roomOf, sentence } from "./terminal/wrap.ts";

export interface PollListening {
  /** `https://…`, without a slash at its end. */
  gateway: string;
  apiKey: string;
  filter: Filter;
  /** Who gets each event, signed; undefined: nobody. */
  forwardTo: string | undefined;
  json: boolean;
}

/** Takes half of a key's default rate. */
const PAUSE_MS = 1_000;
const PAGE = 100;
const TIMEOUT_MS = 30_000;
/** How long a gateway may not answer before it is given up. */
const GONE_MS = 60_000;
/** Stands where a webhook has its id. */
const SUBSCRIPTION = "listen";

/**
 * Follows the events of any gateway that its key may read, from now on: asks for them page by page, prints each and hands
 * it on, signed as a webhook is, with a secret of this session. Answers the exit code once it was asked to stop.
 * @throws {CommandError} when the gateway refuses, or has not answered for a minute
 */
export async function listenByPolling(options: PollListening, io: CommandIo): Promise<number> {
  const { gateway, forwardTo, json } = options;
  const stopping = new AbortController();
  void untilAskedToStop(() => {}).then(() => stopping.abort());
  const ask = asker(options, io, stopping.signal);
  const { latestLedger } = await ask({ limit: "1" });
  if (stopping.signal.aborted) return leaveSoon(0);
  const secret = createSecret((length) => crypto.getRandomValues(new Uint8Array(length)));
  if (!json) {
    io.stdout(sentence(`Listening to ${gateway} after ledger ${latestLedger}. Ctrl-C ends it.`, roomOf(io)));
    if (forwardTo !== undefined) io.stdout(forwardingNotice(forwardTo, secret, roomOf(io)));
    io.stdout("\n");
  } else if (forwardTo !== undefined) {
    io.stderr(forwardingNotice(forwardTo, secret, Infinity));
  }
  const tell = teller(options, secret, io);
  let place: Record<string, string> = { fromLedger: String(latestLedger + 1) };
  while (!stopping.signal.aborted) {
    const { events, cursor } = await ask({ ...place, limit: String(PAGE) });
    place = { cursor };
    for (const event of events) if (!stopping.signal.aborted) await tell(event);
    if (events.length < PAGE) await sleep(PAUSE_MS, stopping.signal);
  }
  return leaveSoon(0);
}

interface Page {
  events: PublicEvent[];
  cursor: string;
  latestLedger: number;
}

/** Asks for a page, again and again while the gateway is busy or away. Resolves with an empty one once it was asked to stop. */
function asker({ gateway, apiKey, filter }: PollListening, io: CommandIo, signal: AbortSignal) {
  const { types, deviceHash, merchant } = filter;
  const filters = Object.entries({ types: types?.join(","), deviceHash, merchant })
    .filter((entry): entry is [string, string] => entry[1] !== undefined);
  return async (query: Record<string, string>): Promise<Page> => {
    const url = `${gateway}/v1/events?${new URLSearchParams([...filters, ...Object.entries(query)])}`;
    const beganAt = performance.now();
    for (let isTold = false; !signal.aborted;) {
      const response = await fetch(url, {
        headers: { Authorization: `Bearer ${apiKey}` },
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      }).catch(() => undefined);
      const answer = await response?.json().catch(() => undefined);
      if (response?.ok && Array.isArray(answer?.events)) return answer;
      if (response?.status === 429) {
        await sleep(1000 * (Number(response.headers.get("Retry-After")) || 1), signal);
        continue;
      }
      if (response !== undefined && response.status < 500) throw refusal(gateway, response.status, answer);
      const why = response === undefined ? "does not answer" : `answers with ${response.status}`;
      if (performance.now() - beganAt > GONE_MS) throw new CommandError(`the gateway at ${gateway} ${why}`);
      if (!isTold && !signal.aborted) io.stderr(`gateway listen: the gateway at ${gateway} ${why}: trying again\n`);
      isTold = true;
      await sleep(PAUSE_MS, signal);
    }
    return { events: [], cursor: "", latestLedger: 0 };
  };
}

function refusal(gateway: string, status: number, answer: { error?: { code: string; message: string } } | undefined) {
  const { error } = answer ?? {};
  const why = error === undefined
    ? `answers with ${status}: is it a gateway?`
    : `refuses: ${error.code}: ${error.message}`;
  return new CommandError(`the gateway at ${gateway} ${why}`);
}

function teller({ forwardTo, json }: PollListening, secret: string, io: CommandIo) {
  const secrets = [signingSecret(secret)];
  return async (event: PublicEvent): Promise<void> => {
    const body = JSON.stringify({ subscription: SUBSCRIPTION, event });
    const proof = () => signatureHeaders({ secrets, eventId: event.id, body, nowMs: io.now() });
    const told = forwardTo === undefined ? undefined : forwardedWith(await forward(forwardTo, body, proof()));
    io.stdout(json ? `${body}\n` : deliveryLine(event, told, io.now(), roomOf(io)));
  };
}

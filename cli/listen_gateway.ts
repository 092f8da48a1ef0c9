import type { GatewayEvent } from "../lib/client/client.ts";
import { createSecret, signatureHeaders, signingSecret } from "../lib/webhooks/delivery/signature.ts";
import { secureRandom } from "../lib/random.ts";
import type { CommandIo } from "./command.ts";
import { follow } from "./follow.ts";
import type { Filter } from "./listen_filter.ts";
import { forward, forwardingNotice } from "./listen_forward.ts";
import { deliveryLine, forwardedWith } from "./listen_line.ts";
import { roomOf, sentence } from "./terminal/line_width.ts";

export interface GatewayListening {
  /** `https://…`, without a slash at its end. */
  gateway: string;
  apiKey: string;
  filter: Filter;
  /** Who gets each event, signed; undefined: nobody. */
  forwardTo: string | undefined;
  json: boolean;
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

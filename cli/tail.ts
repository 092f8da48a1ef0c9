import type { EventNotice } from "../lib/client/client.ts";
import {
  type Command,
  type CommandIo,
  type Flags,
  integerFlag,
  parseFlags,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { GATEWAY_KEY_ROW, gatewayUrl, readGatewayKey } from "./gateway_flags.ts";
import { helpText } from "./help.ts";
import { STREAM_FILTER_ROWS, streamFilterOf } from "./event_filter.ts";
import { deliveryLine } from "./delivery_line.ts";
import { findSandbox, SANDBOX_ROW, sandboxUrl, waitingFor } from "./sandbox/running_sandbox.ts";
import { roomOf, sentence } from "./terminal/line_width.ts";

const FLAGS = [
  ["--gateway URL", "Follow this gateway instead of the sandbox"],
  ["--from-ledger N", "Begin with the events of this ledger, 1 for the oldest (default: new events only)"],
  ["--from TIME", "Begin with the events of this time: 2026-01-31T00:00:00Z, or Unix seconds"],
  ["--to TIME", "End with the stored events before this time"],
  ["--cursor TEXT", "Begin after the event with this cursor, as --json prints it"],
  ["--once", "End after the stored events"],
  ...STREAM_FILTER_ROWS,
  SANDBOX_ROW,
  ["--json", "Print one line of JSON for each event: { cursor, event }"],
] as const;

export const command: Command = {
  help: helpText({
    usage: ["tail [FLAGS]", "tail --gateway URL [FLAGS]"],
    about: "Prints the events of a gateway as they happen, one per line (GET /v1/events/stream). With --from-ledger, " +
      "--from, --to or --cursor it begins with the history.\n\n" +
      "It follows the sandbox on this machine. With --gateway it follows any gateway, with an API key of scope read.\n\n" +
      "After an interruption it continues where it stopped. If events may be missing, it warns on standard error.",
    flags: FLAGS,
    environment: [GATEWAY_KEY_ROW],
    examples: [
      "gateway tail",
      "gateway tail --from-ledger 1 --once --json | jq .event.type",
      "gateway tail --types payment.authorized",
      "gateway tail --from 2026-01-01 --to 2026-02-01 --json",
      "SERVICE_API_KEY=… gateway tail --gateway https://gateway.example.com",
    ],
  }),
  async run(args, io) {
    const { flags, positionals } = parseFlags(args, FLAGS);
    refuseExtra(positionals);
    if (flags["from-ledger"] !== undefined && flags.cursor !== undefined) {
      throw new UsageError("--from-ledger and --cursor exclude each other");
    }
    if (flags.gateway !== undefined && flags.sandbox !== undefined) {
      throw new UsageError("--gateway and --sandbox exclude each other");
    }
    const text = flags["from-ledger"];
    const fromLedger = text === undefined
      ? undefined
      : integerFlag("--from-ledger", text, { min: 1, max: 4_294_967_295 });
    const url = gatewayUrl(flags.gateway);
    const filter = await streamFilterOf(flags);
    const { gateway, apiKey } = url === undefined
      ? await findSandbox(sandboxUrl(flags.sandbox), waitingFor(io, "tail"))
      : { gateway: url, apiKey: await readGatewayKey(io) };
    const { follow } = await import("./follow.ts");
    return await follow({
      command: "tail",
      gateway,
      apiKey,
      filter,
      fromLedger,
      from: flags.from,
      to: flags.to,
      cursor: flags.cursor,
      once: flags.once,
      ...printer(flags, gateway, io),
    }, io);
  },
};

function printer({ json }: Flags<typeof FLAGS>, gateway: string, io: CommandIo) {
  return {
    onBegin(latestLedger: number | undefined) {
      if (json || latestLedger === undefined) return;
      io.stdout(sentence(`Following ${gateway} after ledger ${latestLedger}. Ctrl-C ends it.`, roomOf(io)) + "\n");
    },
    onNotice(notice: EventNotice) {
      if (notice.type !== "gap") return;
      const { type: _, ...gap } = notice;
      io.stderr(`gateway tail: events may be missing ${JSON.stringify(gap)}\n`);
    },
    onEvent(event: Parameters<typeof deliveryLine>[0], cursor: string | undefined) {
      const closedAtMs = Date.parse(event.ledgerClosedAt);
      io.stdout(
        json ? `${JSON.stringify({ cursor, event })}\n` : deliveryLine(event, undefined, closedAtMs, roomOf(io)),
      );
    },
  };
}

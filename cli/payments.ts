import { REBUILD } from "../lib/escrow/payments/projection.ts";
import { acknowledge } from "../lib/escrow/payments/payments_condition.ts";
import { parseEventId } from "../lib/store/event.ts";
import {
  type Command,
  CommandError,
  type CommandIo,
  parseFlags,
  readAction,
  refuseExtra,
  UsageError,
} from "./command.ts";
import { helpText, STORE_ROW } from "./help.ts";
import { withStore } from "./store_setting.ts";

const ACTIONS = ["acknowledge", "rebuild"] as const;
const FLAGS = [["--all", "acknowledge: all payments that have expired so far"], STORE_ROW] as const;

/** A gateway that starts later takes up a rebuild, too. */
const ASKED_MS = 30 * 86_400_000;

const help = helpText({
  usage: ["payments acknowledge [ID…] [--all] [--store SETTING]", "payments rebuild [--store SETTING]"],
  about:
    "acknowledge ends the alarm of payments that expired unclaimed: in the status, the metrics, the doctor and the console. " +
    "The payments stay expired. After seven days the alarm ends by itself.\n\n" +
    "rebuild derives all payments again from the event history. Gateways may go on meanwhile. latestLedger of " +
    "GET /v1/payments shows how far it is.",
  flags: FLAGS,
  examples: [
    "gateway payments acknowledge 0000000068719480832-0000000000",
    "gateway payments acknowledge --all --store sqlite:/var/lib/gateway/gateway.db",
    "gateway payments rebuild",
  ],
});

export const command: Command = { help, actions: ACTIONS, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [first, ...ids] } = parseFlags(args, FLAGS);
  if (readAction(first, ACTIONS) === "rebuild") {
    refuseExtra(ids, "payments rebuild");
    if (flags.all) throw new UsageError("--all belongs to payments acknowledge");
    return await withStore(flags.store, io, async ({ sharedState, location }) => {
      await sharedState.change(REBUILD, () => ({ value: true, keepMs: ASKED_MS, answer: undefined }));
      io.stdout(
        `the gateway that reads the events of ${location} derives all payments again, or the next one that starts\n`,
      );
      return 0;
    });
  }
  if (flags.all && ids.length > 0) throw new UsageError("--all and ids exclude each other");
  if (!flags.all && ids.length === 0) throw new UsageError("ID is missing: pass the ids of payments, or --all");
  if (ids.length > 100) throw new UsageError(`at most 100 ids; got ${ids.length}`);
  const wrong = ids.find((id) => parseEventId(id) === undefined);
  if (wrong !== undefined) throw new UsageError(`ID must be the id of a payment; got ${JSON.stringify(wrong)}`);
  return await withStore(flags.store, io, async (store) => {
    const unknown = await acknowledge(store, flags.all ? "all" : { ids });
    if (unknown.length > 0) throw new CommandError(`nothing was acknowledged: ${unknown[0]} is no expired payment`);
    io.stdout(flags.all ? "all expired payments are acknowledged\n" : `${ids.length} acknowledged\n`);
    return 0;
  });
}

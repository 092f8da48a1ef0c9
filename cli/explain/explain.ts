import { isoTime } from "../../lib/clock.ts";
import { type Command, CommandError, type CommandIo, parseFlags, refuseExtra, UsageError } from "../command.ts";
import { helpText, jsonRow } from "../help.ts";
import { STORE_AND_NODE_ROWS, type StoreAndNode, withStoreAndNode } from "../store_and_node.ts";
import { hanging, roomOf } from "../terminal/line_width.ts";
import type { Form } from "./look_up.ts";
import type { Step, Story } from "./step.ts";

const FLAGS = [
  ...STORE_AND_NODE_ROWS,
  jsonRow("hash, payments, steps, nodeProblem; for several transactions reference, transactions, more"),
] as const;

export const command: Command = {
  help: helpText({
    usage: ["explain HASH|PAYMENT|REFERENCE [FLAGS]"],
    about:
      "Prints the whole story of a transaction in the order of time: prepared, sent, ledger, events, each webhook's attempts, " +
      "and the claim or the end of its payment. For a refused transaction it prints why, and what would let it pass.\n\n" +
      "It reads the store, also while gateways use it, and asks a node for the rest. Without a node it prints the reason.",
    lists: {
      Arguments: [
        ["HASH", "A transaction: 64 hex digits"],
        ["PAYMENT", "The id of a payment, or of any event"],
        [
          "REFERENCE",
          "The client's own name of a transaction. For several transactions it prints a list, newest first",
        ],
      ],
    },
    flags: FLAGS,
    examples: [
      "gateway explain order-1001",
      "gateway explain 0000000068719480832-0000000000 --store sqlite:/var/lib/gateway/gateway.db",
      "gateway explain order-1001 --json | jq '.steps[] | select(.step == \"attempt\")'",
    ],
  }),
  async run(args, io) {
    const { flags, positionals: [named, ...extra] } = parseFlags(args, FLAGS);
    if (named === undefined) throw new UsageError("HASH, PAYMENT or REFERENCE is missing: pass what to explain");
    refuseExtra(extra, named);
    return await withStoreAndNode(flags, io, (parts) => explain(named, flags.json === true, parts, io));
  },
};

async function explain(named: string, json: boolean, parts: StoreAndNode, io: CommandIo): Promise<number> {
  const { storyOf } = await import("./story.ts");
  const { storyText } = await import("./story_text.ts");
  const { createKeyNames } = await import("./key_names.ts");
  const { formOf, hashOfEvent, transactionsOf } = await import("./look_up.ts");
  const story = (hash: string) => storyOf({ ...parts, keyName: createKeyNames(parts.store, io.env) }, hash);

  function print(told: Story): number {
    io.stdout(json ? `${JSON.stringify(told)}\n` : storyText(told, roomOf(io)));
    return 0;
  }

  const form = formOf(named);
  const hash = form === "hash"
    ? named.toLowerCase()
    : form === "payment"
    ? await hashOfEvent(parts.store, named)
    : undefined;
  const told = hash === undefined ? undefined : await story(hash);
  if (told !== undefined) return print(told);
  const { newest, isMore } = await transactionsOf(parts.store, named);
  if (newest.length === 0) throw await unknown(named, form, parts);
  const stories: Story[] = [];
  for (const { hash } of newest) stories.push((await story(hash))!);
  if (stories.length === 1) return print(stories[0]!);
  const rows = stories.map((one, at) => ({ preparedAt: isoTime(newest[at]!.preparedAtMs), ...summaryOf(one) }));
  if (json) io.stdout(`${JSON.stringify({ reference: named, transactions: rows, more: isMore })}\n`);
  else {
    for (const row of rows) io.stdout(listLine(row, io));
    io.stderr(`${rows.length}${isMore ? " or more" : ""} transactions, newest first; explain one by its hash\n`);
  }
  return 0;
}

/** The whole hash, to copy. Scripts get tabs. */
function listLine(
  { preparedAt, state, hash }: { preparedAt: string; state: string; hash: string },
  io: CommandIo,
): string {
  if (!io.isTerminal) return `${preparedAt}\t${state}\t${hash}\n`;
  return hanging(`${preparedAt.slice(0, 19).replace("T", " ")}  ${state.padEnd(10)}  `, hash, roomOf(io)) + "\n";
}

/** The state of its payment, else its outcome. */
function summaryOf({ hash, payments: [payment], steps }: Story): { state: string; hash: string } {
  const outcomes: Step["step"][] = ["applied", "failed", "rejected", "unresolved"];
  return { state: payment?.state ?? steps.find(({ step }) => outcomes.includes(step))!.step, hash };
}

/** The error with the places in which the command looked. */
async function unknown(named: string, form: Form, { store, node }: StoreAndNode): Promise<CommandError> {
  const is = `${JSON.stringify(named)} is unknown: ${store.location} has no`;
  if (form === "reference") return new CommandError(`${is} transaction with this reference`);
  if (form === "payment") return new CommandError(`${is} event with this id, and no transaction with this reference`);
  const problem = await node.problem();
  const asked = problem === undefined ? "the node does not have it either" : `no node answers: ${problem}`;
  return new CommandError(`${is} submission, event or reference of this transaction, and ${asked}`);
}

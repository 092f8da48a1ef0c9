import { type Backup, backUpStore } from "../lib/store/file/backup.ts";
import { type Command, type CommandIo, parseFlags, refuseExtra, UsageError } from "./command.ts";
import { helpText, jsonRow, STORE_ROW } from "./help.ts";
import { storeSetting } from "./store_setting.ts";
import { shellWord } from "./terminal/shell_word.ts";

const FLAGS = [STORE_ROW, jsonRow("store, file, bytes")] as const;

const help = helpText({
  usage: ["backup FILE [--store SETTING] [--json]"],
  about: "Copies the store into a new file, as of one moment, while a gateway serves from it; then checks the copy. " +
    "Keys, limits, history, subscriptions and what is still to be delivered are in there; keep it as safe as the store " +
    "(it is made with mode 0600). A keys file is not in the store: copy it as any other file. A store in PostgreSQL is " +
    "backed up with its own tools, such as pg_dump --schema=gateway.",
  flags: FLAGS,
  notes:
    "To restore, stop the gateway and start it with the same settings on the copy, or on a copy of the copy under the " +
    "old name (without the old -wal and -shm files). What has happened since is read from the network again, as far " +
    "back as the node holds it. Gone are the keys, webhooks and idempotency keys made since, and a key that was disabled " +
    "since is valid again: let clients look for a payment in GET /v1/events before they begin it again, or it may be " +
    "paid twice. A sandbox's store goes back into its --state folder under the old name; the ledger.db " +
    "there is the network, and is not in the copy.\n\nA backup that is killed leaves FILE.….part behind: the next one to " +
    "the same FILE removes it once it is an hour old; where each has a name of its own, delete it.",
  examples: [
    "gateway backup /backups/gateway-$(date +%F).db",
    "gateway backup copy.db --store sqlite:/var/lib/gateway/gateway.db",
    "gateway serve --store sqlite:copy.db",
  ],
});

export const command: Command = { help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [file, ...extra] } = parseFlags(args, FLAGS);
  if (file === undefined) throw new UsageError("FILE is missing: say where the copy goes");
  refuseExtra(extra);
  const setting = storeSetting(flags.store, io.env, { isAFile: true });
  const startedAt = io.now();
  if (io.isErrorTerminal) io.stderr(`Copying ${setting} …\n`);
  const backup = await backUpStore(setting, file);
  const took = `${((io.now() - startedAt) / 1000).toFixed(1)} s`;
  io.stdout(flags.json ? asJson(backup) : asText(backup, setting, took));
  return 0;
}

function asJson({ location, path, bytes }: Backup): string {
  return JSON.stringify({ store: location, file: path, bytes }) + "\n";
}

function asText({ location, path, bytes }: Backup, setting: string, took: string): string {
  const scheme = setting.slice(0, setting.indexOf(":"));
  return `${location} is copied to ${path}: ${(bytes / 1e6).toFixed(1)} MB in ${took}, checked\n` +
    `To restore, with the settings of now: gateway serve --store ${shellWord(`${scheme}:${path}`)}\n`;
}

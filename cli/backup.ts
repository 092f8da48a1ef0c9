import { type Backup, backUpStore } from "../lib/store/file/backup.ts";
import { type Command, type CommandIo, parseFlags, refuseExtra, UsageError } from "./command.ts";
import { helpText, jsonRow, STORE_ROW } from "./help.ts";
import { storeSetting } from "./store_setting.ts";
import { shellWord } from "./terminal/shell_word.ts";

const FLAGS = [STORE_ROW, jsonRow("store, file, bytes")] as const;

const help = helpText({
  usage: ["backup FILE [--store SETTING] [--json]"],
  about:
    "Copies the store into a new file while a gateway uses it, and checks the copy. The copy is of one moment.\n\n" +
    "It holds keys, limits, history, webhooks and pending deliveries. Keep it as safe as the store; its mode is 0600. It " +
    "does not hold a keys file: copy that like any file. Back up PostgreSQL with its own tools, such as pg_dump " +
    "--schema=gateway.",
  flags: FLAGS,
  notes:
    "To restore, stop the gateway and start it with the same settings on the copy. You can also put the copy under the " +
    "old name; delete the old -wal and -shm files first. The gateway reads newer events from the network again, as far " +
    "back as the node holds them.\n\n" +
    "A restore loses the keys, webhooks and idempotency keys created after the backup, and enables keys disabled after " +
    "it. Before a client repeats a payment, let it look for the payment in GET /v1/events. Otherwise it may pay twice.\n\n" +
    "For a sandbox put the copy into its --state folder under the old name. Its network is in ledger.db, which the copy " +
    "does not hold.\n\n" +
    "An interrupted backup leaves FILE.….part. After an hour the next backup to the same FILE deletes it. If your file " +
    "names differ, delete it yourself.",
  examples: [
    "gateway backup /backups/gateway-$(date +%F).db",
    "gateway backup copy.db --store sqlite:/var/lib/gateway/gateway.db",
    "gateway serve --store sqlite:copy.db",
  ],
});

export const command: Command = { help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [file, ...extra] } = parseFlags(args, FLAGS);
  if (file === undefined) throw new UsageError("FILE is missing: pass the path of the copy");
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
    `To restore, with the same settings: gateway serve --store ${shellWord(`${scheme}:${path}`)}\n`;
}

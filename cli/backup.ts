import { type Backup, backUpStore } from "../lib/store/backup.ts";
import { defaultStoreSetting } from "../lib/store/default_store.ts";
import { type Command, type CommandIo, parseFlags, UsageError } from "./command.ts";

const help = `Usage: gateway backup FILE [--store SETTING] [--json]

Copies the store into a new file, as of one moment, while a gateway serves from it; then checks
the copy. Keys, limits, history, subscriptions and what is still to be delivered are in there;
keep it as safe as the store (it is made with mode 0600). A keys file is not in the store: copy
it as any other file.

  --store SETTING   the store: sqlite:PATH or deno-kv:PATH; without it SERVICE_API_STORE,
                    else the standard store in the working directory
  --json            print one line of JSON: store, file, bytes

To restore, stop the gateway and start it on the copy, or on a copy of the copy under the old
name (without the old -wal and -shm files). What has happened since is read from the network
again, as far back as the node holds it.

Examples:
  gateway backup /backups/gateway-$(date +%F).db
  gateway backup copy.db --store sqlite:/var/lib/gateway/gateway.db
  gateway serve --store sqlite:copy.db
`;

export const command: Command = { name: "backup", summary: "Copy the store while a gateway serves from it", help, run };

async function run(args: string[], io: CommandIo): Promise<number> {
  const { flags, positionals: [file, extra] } = parseFlags(args, { store: "text", json: "switch" });
  if (file === undefined) throw new UsageError("FILE is missing: say where the copy goes");
  if (extra !== undefined) throw new UsageError(`unexpected ${JSON.stringify(extra)}`);
  const setting = flags.store ?? (io.env.SERVICE_API_STORE || defaultStoreSetting());
  const startedAt = io.now();
  if (io.isTerminal) io.stderr(`Copying ${setting} …\n`);
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
    `To restore: gateway serve --store ${scheme}:${path}\n`;
}

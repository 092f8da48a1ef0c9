import { type Config, type SettingName, SETTINGS } from "../../lib/config.ts";
import { readConfig, unknownSettings } from "../read_config.ts";
import { systemClock } from "../../lib/clock.ts";
import { createResolver } from "../../lib/webhooks/targets/dns.ts";
import { type Command, type CommandIo, UsageError } from "../command.ts";
import { examine } from "./checks.ts";
import { fail, type Finding, findingText, ok, summary, warn } from "./findings.ts";
import { helpText, jsonRow } from "../help.ts";
import { parseSettingFlags } from "../setting_flags.ts";
import { refusePassword } from "../store_setting.ts";
import { roomOf } from "../terminal/line_width.ts";

const NAMES = Object.keys(SETTINGS) as SettingName[];

const FLAGS = [
  ["--target URL", "Also say whether webhooks could go to this URL, from here"],
  jsonRow("ok, checks (check, verdict, found, todo)"),
] as const;

export const command: Command = {
  help: helpText({
    usage: ["doctor [--target URL] [--json] [the flags of gateway serve]"],
    about:
      "Looks at everything a gateway with these settings would need, and changes nothing: the settings, the store " +
      "(a gateway may be serving from it), API keys, the key of the webhook secrets, the port, every RPC node, this " +
      "machine's clock, what the node still holds of the history, and the three contracts. Each line says what was " +
      "checked and found; under it stands what to do.",
    lists: {
      Verdicts: [
        ["ok", "As it should be"],
        ["warn", "Worth a look"],
        ["fail", "Keeps the gateway from its work"],
        ["skip", "Could not be looked at"],
      ],
    },
    flags: [...FLAGS, ["…", "All flags of gateway serve: see gateway help serve"]],
    exitCodes: [["0", "Nothing failed"], ["1", "Something failed"], ["2", "Called wrongly"]],
    examples: [
      "gateway doctor",
      "gateway doctor --store sqlite:/var/lib/gateway/gateway.db",
      "gateway doctor --target https://shop.example.com/hook",
      "gateway doctor --json | jq '.checks[] | select(.verdict != \"ok\")'",
    ],
  }),
  run: doctor,
};

async function doctor(args: string[], io: CommandIo): Promise<number> {
  const { settings, flags } = parseSettingFlags(args, NAMES, FLAGS);
  if (flags.target !== undefined) requireWebUrl(flags.target);
  if (settings.store !== undefined) refusePassword(settings.store, "--store", "SERVICE_API_STORE");
  const findings: Finding[] = [];
  const tell = (finding: Finding) => {
    findings.push(finding);
    if (!flags.json) io.stdout(findingText(finding, roomOf(io)));
  };
  const config = checkSettings(io.env, settings, tell);
  if (config !== undefined) {
    const parts = { config, target: flags.target, fetch: globalThis.fetch, resolve: createResolver() };
    for await (const finding of examine({ ...parts, clock: { ...systemClock, now: io.now } })) tell(finding);
  }
  const isWell = !findings.some(({ verdict }) => verdict === "fail");
  io.stdout(flags.json ? JSON.stringify({ ok: isWell, checks: findings }) + "\n" : `\n${summary(findings)}\n`);
  return isWell ? 0 : 1;
}

/** A URL that webhooks may not go to is a finding; what is none was mistyped. */
function requireWebUrl(target: string): void {
  if (URL.canParse(target) && /^https?:$/.test(new URL(target).protocol)) return;
  throw new UsageError(
    `--target must be a URL such as https://shop.example.com/hook, got ${JSON.stringify(target)}`,
  );
}

function checkSettings(
  env: CommandIo["env"],
  flags: Partial<Record<SettingName, string>>,
  tell: (finding: Finding) => void,
): Config | undefined {
  const unknown = unknownSettings(env);
  if (unknown.length > 0) {
    const are = unknown.length === 1 ? "is no setting" : "are no settings";
    tell(warn("settings", `${unknown.join(", ")} ${are}`, "see gateway help serve for their names"));
  }
  try {
    const config = readConfig(env, flags);
    tell(ok("settings", `of the right form, for the network ${JSON.stringify(config.networkPassphrase)}`));
    return config;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "ConfigError") throw error;
    tell(fail("settings", error.message, "correct it: nothing else is checked before"));
    return undefined;
  }
}

import { type Config, type SettingName, SETTINGS } from "../../lib/config.ts";
import { readConfig, unknownSettings } from "../read_config.ts";
import { systemClock } from "../../lib/clock.ts";
import { createResolver } from "../../lib/webhooks/targets/dns.ts";
import { type Command, type CommandIo, httpUrl } from "../command.ts";
import { examine } from "./checks.ts";
import { fail, type Finding, findingText, ok, summary, warn } from "./findings.ts";
import { helpText, jsonRow } from "../help.ts";
import { parseSettingFlags } from "../setting_flags.ts";
import { refusePassword } from "../store_setting.ts";
import { roomOf } from "../terminal/line_width.ts";

const NAMES = Object.keys(SETTINGS) as SettingName[];

const FLAGS = [
  ["--target URL", "Also check whether the gateway could send webhooks to this URL"],
  jsonRow("ok, checks (check, verdict, found, todo)"),
] as const;

export const command: Command = {
  help: helpText({
    usage: ["doctor [--target URL] [--json] [the flags of gateway serve]"],
    about:
      "Checks everything that a gateway with these settings needs, and advises what to do. It changes nothing, and a " +
      "gateway may use the store meanwhile.\n\n" +
      "It checks the settings, the store, API keys, the key of webhook secrets, the port, every RPC node and this " +
      "machine's clock. It also checks the history that the node holds, the three contracts and the escrow's money. Each " +
      "line names the check and the finding. The line under it is the advice.",
    lists: {
      Verdicts: [
        ["ok", "As it should be"],
        ["warn", "Works, but needs attention"],
        ["fail", "The gateway cannot work"],
        ["skip", "Could not be checked"],
      ],
    },
    flags: [...FLAGS, ["…", "All flags of gateway serve: see gateway help serve"]],
    exitCodes: [["0", "No check failed"], ["1", "A check failed"], ["2", "Wrong command line"]],
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
  // A text that is no URL is a mistake on the command line. A URL that webhooks must not use is a finding.
  httpUrl("--target", flags.target);
  if (settings.store !== undefined) refusePassword(settings.store, "--store", "SERVICE_API_STORE");
  const findings: Finding[] = [];
  const report = (finding: Finding) => {
    findings.push(finding);
    if (!flags.json) io.stdout(findingText(finding, roomOf(io)));
  };
  const config = checkSettings(io.env, settings, report);
  if (config !== undefined) {
    const parts = { config, target: flags.target, fetch: globalThis.fetch, resolve: createResolver() };
    for await (const finding of examine({ ...parts, clock: { ...systemClock, now: io.now } })) report(finding);
  }
  const isWell = !findings.some(({ verdict }) => verdict === "fail");
  io.stdout(flags.json ? JSON.stringify({ ok: isWell, checks: findings }) + "\n" : `\n${summary(findings)}\n`);
  return isWell ? 0 : 1;
}

function checkSettings(
  env: CommandIo["env"],
  flags: Partial<Record<SettingName, string>>,
  report: (finding: Finding) => void,
): Config | undefined {
  const unknown = unknownSettings(env);
  if (unknown.length > 0) {
    const are = unknown.length === 1 ? "is no setting" : "are no settings";
    report(warn("settings", `${unknown.join(", ")} ${are}`, "see gateway help serve for the names"));
  }
  try {
    const config = readConfig(env, flags);
    report(ok("settings", `valid, for the network ${JSON.stringify(config.networkPassphrase)}`));
    return config;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== "ConfigError") throw error;
    report(fail("settings", error.message, "correct it and run the doctor again, which checks nothing else before"));
    return undefined;
  }
}

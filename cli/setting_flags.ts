import { parseArgs } from "node:util";
import { ENV_PREFIX, type SettingName, SETTINGS } from "../lib/config.ts";
import { UsageError } from "./command.ts";

interface FlagOption {
  type: "string" | "boolean";
}

/**
 * Parses flags strictly: the settings' own (those named) and the command's extra ones.
 * @throws {UsageError} naming the flag that is unknown or lacks its value.
 */
export function parseFlags<E extends Record<string, FlagOption>>(
  args: string[],
  names: SettingName[],
  extra: E,
): { settings: Partial<Record<SettingName, string>>; flags: Record<string, string | boolean | undefined> } {
  const options: Record<string, FlagOption> = { ...extra };
  const byFlag = new Map<string, SettingName>();
  for (const name of names) {
    const { flag } = SETTINGS[name] as { flag?: string };
    if (flag === undefined) continue;
    options[flag] = { type: "string" };
    byFlag.set(flag, name);
  }
  const flags = strictly(args, options);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [flag, name] of byFlag) {
    if (flags[flag] !== undefined) settings[name] = String(flags[flag]);
  }
  return { settings, flags };
}

function strictly(args: string[], options: Record<string, FlagOption>): Record<string, string | boolean | undefined> {
  const { values, positionals, tokens } = parseArgs({
    args,
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const option = options[token.name];
    if (option === undefined) {
      throw new UsageError(`unknown flag ${token.rawName}${suggestion(token.name, Object.keys(options))}`);
    }
    if (option.type === "string" && (token.value === undefined || token.value.startsWith("--"))) {
      throw new UsageError(`--${token.name} needs a value`);
    }
    if (option.type === "boolean" && token.value !== undefined) throw new UsageError(`--${token.name} takes no value`);
  }
  if (positionals.length > 0) throw new UsageError(`unexpected argument ${JSON.stringify(positionals[0])}`);
  return values as Record<string, string | boolean | undefined>;
}

function suggestion(given: string, known: string[]): string {
  const near = known.find((flag) => flag.startsWith(given.slice(0, 3)) || given.startsWith(flag.slice(0, 3)));
  return near === undefined ? "" : `; did you mean --${near}?`;
}

/** One line a setting, for a command's help. */
export function settingsHelp(names: SettingName[]): string {
  const rows = names.map((name) => {
    const { flag, env, help, standard } = SETTINGS[name] as {
      flag?: string;
      env: string;
      help: string;
      standard?: string;
    };
    return {
      left: flag === undefined ? ENV_PREFIX + env : `--${flag}`,
      right: help + (standard ? ` (${standard})` : ""),
    };
  });
  const width = Math.max(...rows.map(({ left }) => left.length));
  return rows.map(({ left, right }) => `  ${left.padEnd(width)}  ${right}`).join("\n");
}

import { ENV_PREFIX, type SettingName, SETTINGS } from "../lib/config.ts";
import { type Flags, type FlagSpec, parseFlags, UsageError } from "./command.ts";

interface SettingFlag {
  flag?: string;
  env: string;
  help: string;
  standard?: string;
}

/**
 * Reads the flags of the settings named and the command's own.
 * @throws {UsageError} for a flag that is unknown, twice there or without a value, and for anything that is no flag
 */
export function parseSettingFlags<const S extends FlagSpec>(
  args: string[],
  names: SettingName[],
  own: S,
): { settings: Partial<Record<SettingName, string>>; flags: Flags<S> } {
  const byFlag = names.flatMap((name) => {
    const { flag } = SETTINGS[name] as SettingFlag;
    return flag === undefined ? [] : [[flag, name] as const];
  });
  const spec: FlagSpec = { ...own, ...Object.fromEntries(byFlag.map(([flag]) => [flag, "text"])) };
  const { flags, positionals } = parseFlags(args, spec);
  if (positionals.length > 0) throw new UsageError(`unexpected ${JSON.stringify(positionals[0])}`);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [flag, name] of byFlag) {
    if (flags[flag] !== undefined) settings[name] = String(flags[flag]);
  }
  return { settings, flags: flags as Flags<S> };
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

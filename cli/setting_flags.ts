import { ENV_PREFIX, type SettingName, SETTINGS } from "../lib/config.ts";
import { type Flags, type FlagSpec, parseFlags, refuseExtra } from "./command.ts";
import type { Row } from "./help.ts";

interface SettingFlag {
  flag?: string;
  value?: string;
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
  refuseExtra(positionals);
  const settings: Partial<Record<SettingName, string>> = {};
  for (const [flag, name] of byFlag) {
    if (flags[flag] !== undefined) settings[name] = String(flags[flag]);
  }
  return { settings, flags: flags as Flags<S> };
}

/** The settings that have a flag, for a command's help. */
export function settingFlagRows(names: SettingName[]): Row[] {
  return rows(names, ({ flag, value }) => flag === undefined ? undefined : `--${flag} ${value}`);
}

/** The settings that a process list must not show, for a command's help. */
export function environmentRows(names: SettingName[]): Row[] {
  return rows(names, ({ flag, env }) => flag === undefined ? ENV_PREFIX + env : undefined);
}

function rows(names: SettingName[], leftOf: (setting: SettingFlag) => string | undefined): Row[] {
  return names.flatMap((name) => {
    const setting = SETTINGS[name] as SettingFlag;
    const left = leftOf(setting);
    return left === undefined
      ? []
      : [[left, setting.help + (setting.standard ? ` (${setting.standard})` : "")] as const];
  });
}

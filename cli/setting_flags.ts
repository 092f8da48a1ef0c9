import { ENV_PREFIX, type SettingName, SETTINGS } from "../lib/config.ts";
import { standardOf } from "./read_config.ts";
import { type Flags, parseFlags, refuseExtra, type Row } from "./command.ts";

interface SettingFlag {
  flag?: string;
  value?: string;
  env: string;
  help: string;
}

/**
 * Reads the flags of the settings named and the command's own.
 * @throws {UsageError} for a flag that is unknown, twice there or without a value, and for anything that is no flag
 */
export function parseSettingFlags<const R extends readonly Row[]>(
  args: string[],
  names: SettingName[],
  own: R,
): { settings: Partial<Record<SettingName, string>>; flags: Flags<R> } {
  const { flags, positionals } = parseFlags(args, [...own, ...settingFlagRows(names)] as readonly Row[]);
  refuseExtra(positionals);
  const given = flags as Record<string, string>;
  const settings = names.flatMap((name) => {
    const text = given[(SETTINGS[name] as SettingFlag).flag ?? ""];
    return text === undefined ? [] : [[name, text] as const];
  });
  return { settings: Object.fromEntries(settings), flags: flags as Flags<R> };
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
    const standard = standardOf(name);
    return left === undefined ? [] : [[left, setting.help + (standard ? ` (${standard})` : "")] as const];
  });
}

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
 * Reads the flags of these settings and the command's own flags.
 * @throws {UsageError} for a flag that is unknown, repeated or without its value, and for other arguments
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

/** The rows of the settings with a flag. */
export function settingFlagRows(names: SettingName[]): Row[] {
  return rows(names, ({ flag, value }) => flag === undefined ? undefined : `--${flag} ${value}`);
}

/** The rows of the settings without a flag, which a process list must not show. */
export function environmentRows(names: SettingName[]): Row[] {
  return rows(names, ({ flag, env }) => flag === undefined ? ENV_PREFIX + env : undefined);
}

function rows(names: SettingName[], leftOf: (setting: SettingFlag) => string | undefined): Row[] {
  return names.flatMap((name) => {
    const setting = SETTINGS[name] as SettingFlag;
    const left = leftOf(setting);
    const standard = standardOf(name);
    return left === undefined ? [] : [[left, setting.help + (standard ? ` (default ${standard})` : "")] as const];
  });
}

import { type Config, ConfigError, ENV_PREFIX, list, type Setting, type SettingName, SETTINGS } from "../lib/config.ts";

/**
 * Reads every setting: a flag (by the setting's name) beats the environment, which beats the standard value.
 * @throws {ConfigError} for the first setting that is wrong.
 */
export function readConfig(
  env: Record<string, string | undefined>,
  flags: Partial<Record<SettingName, string>> = {},
): Config {
  const config: Record<string, unknown> = {};
  for (const [name, s] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const fromFlag = flags[name];
    const fromEnv = env[ENV_PREFIX + s.env];
    // An empty variable means "not set", as in every compose file; an empty flag is a mistake.
    const text = fromFlag ?? (fromEnv === "" ? undefined : fromEnv) ?? s.standard;
    if (text === undefined) continue;
    const read = s.schema.safeParse(text);
    if (!read.success) {
      const source = fromFlag === undefined ? ENV_PREFIX + s.env : `--${s.flag}`;
      const [issue] = read.error.issues;
      const was = s.secret ? hidden(text, issue?.path[0]) : `, got ${JSON.stringify(text)}`;
      throw new ConfigError(`${source} ${issue?.message ?? "is wrong"}${was}`);
    }
    config[name] = read.data;
  }
  refuseTwoPlacesForKeys(config as Config, flags);
  return config as Config;
}

/** What can be told of a value that must not be shown: which part of a list is meant, else how long it is. */
function hidden(text: string, index: PropertyKey | undefined): string {
  const count = list(text).length;
  if (typeof index === "number" && count > 1) return `, which number ${index + 1} of the ${count} given is not`;
  return `, got ${text.length === 1 ? "1 character" : `${text.length} characters`}`;
}

function refuseTwoPlacesForKeys(
  config: Config,
  flags: Partial<Record<SettingName, string>>,
): void {
  if (config.keys === undefined || config.keysFile === undefined) return;
  const file = flags.keysFile === undefined ? `${ENV_PREFIX}KEYS_FILE` : "--keys-file";
  throw new ConfigError(
    `${ENV_PREFIX}KEYS and ${file} are both set: keys live in exactly one place, unset one of them`,
  );
}

/** Read by commands, not by the gateway. */
const OTHER_VARIABLES = ["NEW_SECRETS_KEY", "KEY"];

/** Variables that carry the prefix but are no setting: most likely misspelt. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = new Set(
    [...Object.values(SETTINGS).map((s) => s.env), ...OTHER_VARIABLES].map((env) => ENV_PREFIX + env),
  );
  return Object.keys(env).filter((name) => name.startsWith(ENV_PREFIX) && !known.has(name)).sort();
}

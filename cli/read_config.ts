import { type Config, ConfigError, ENV_PREFIX, list, type Setting, type SettingName, SETTINGS } from "../lib/config.ts";
import type { Log } from "../lib/log.ts";
import { defaultStoreSetting } from "../lib/runtime/default_store.ts";
import { variableNames } from "../lib/runtime/runtime.ts";

/** The default of a setting, if it has one. The store differs by runtime. */
export function standardOf(name: SettingName): string | undefined {
  return name === "store" ? defaultStoreSetting() : SETTINGS[name].standard;
}

/**
 * Reads every setting. A flag (by the setting's name) beats the environment, which beats the default.
 * @throws {ConfigError} for the first wrong setting
 */
export function readConfig(
  env: Record<string, string | undefined>,
  flags: Partial<Record<SettingName, string>> = {},
): Config {
  const config: Record<string, unknown> = {};
  for (const [name, s] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const fromFlag = flags[name];
    const fromEnv = env[ENV_PREFIX + s.env];
    // An empty variable means "not set", as in compose files. An empty flag is a mistake.
    const text = fromFlag ?? (fromEnv === "" ? undefined : fromEnv) ?? standardOf(name);
    if (text === undefined) continue;
    const read = s.schema.safeParse(text);
    if (!read.success) {
      const source = fromFlag === undefined ? ENV_PREFIX + s.env : `--${s.flag}`;
      const [issue] = read.error.issues;
      const was = s.secret ? hidden(text, issue?.path[0]) : `; got ${JSON.stringify(text)}`;
      throw new ConfigError(`${source} ${issue?.message ?? "is wrong"}${was}`);
    }
    config[name] = read.data;
  }
  refuseTwoPlacesForKeys(config as Config, flags);
  return config as Config;
}

/** Describes a secret value without showing it: the number of the wrong part of a list, else the length. */
function hidden(text: string, index: PropertyKey | undefined): string {
  const count = list(text).length;
  if (typeof index === "number" && count > 1) return `, which number ${index + 1} of the ${count} given is not`;
  return `; got ${text.length === 1 ? "1 character" : `${text.length} characters`}`;
}

function refuseTwoPlacesForKeys(
  config: Config,
  flags: Partial<Record<SettingName, string>>,
): void {
  if (config.keys === undefined || config.keysFile === undefined) return;
  const file = flags.keysFile === undefined ? `${ENV_PREFIX}KEYS_FILE` : "--keys-file";
  throw new ConfigError(
    `${ENV_PREFIX}KEYS and ${file} exclude each other: keys are in exactly one place, unset one of them`,
  );
}

/** Variables of commands, not of the gateway. */
const OTHER_VARIABLES = ["NEW_SECRETS_KEY", "KEY"];

/** Variables with the prefix that are no setting, most likely misspelt. */
export function unknownSettings(env: Record<string, string | undefined>): string[] {
  const known = new Set(
    [...Object.values(SETTINGS).map((s) => s.env), ...OTHER_VARIABLES].map((env) => ENV_PREFIX + env),
  );
  return variableNames(env).filter((name) => name.startsWith(ENV_PREFIX) && !known.has(name)).sort();
}

/** The platform's own database is the only store that all isolates share. */
const DEPLOY_STORE = "deno-kv:";

/**
 * Reads the settings of a gateway on Deno Deploy from the environment.
 * @throws {ConfigError} for a wrong setting, and for one that needs files, which do not last there
 */
export function readDeployConfig(env: Record<string, string | undefined>): Config {
  const config = readConfig(env, env.SERVICE_API_STORE ? {} : { store: DEPLOY_STORE });
  if (config.store !== DEPLOY_STORE) {
    // The rest of the URL may hold a password.
    const scheme = config.store.replace(/:.+$/s, ":…");
    throw new ConfigError(
      `SERVICE_API_STORE must be ${DEPLOY_STORE} or not be set here; got ${
        JSON.stringify(scheme)
      }. Files and memory do ` +
        "not outlive an isolate",
    );
  }
  if (config.keysFile !== undefined) {
    throw new ConfigError(
      "SERVICE_API_KEYS_FILE must not be set on this platform, where files do not last: put the output of gateway keygen " +
        "--record into SERVICE_API_KEYS",
    );
  }
  return config;
}

/** Warns about settings without effect here: misspelt ones, and the settings of a process that listens. */
export function warnOfIdleSettings(env: Record<string, string | undefined>, log: Log): void {
  for (const setting of unknownSettings(env)) log.warn("unknown setting in the environment", { setting });
  for (const setting of ["SERVICE_API_HOST", "SERVICE_API_PORT", "SERVICE_API_POLL_MS"]) {
    if (env[setting]) log.warn("setting has no effect on this platform", { setting });
  }
}

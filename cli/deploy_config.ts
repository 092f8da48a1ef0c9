import { type Config, ConfigError } from "../lib/config.ts";
import { readConfig, unknownSettings } from "./read_config.ts";
import type { Log } from "../lib/log.ts";

/** The platform's own database: the one store that outlives an isolate and is shared by all. */
const STORE = "deno-kv:";

/**
 * The settings of a gateway on Deno Deploy, from the environment alone.
 * @throws {ConfigError} for a wrong one, and for one that needs files, which do not last there
 */
export function readDeployConfig(env: Record<string, string | undefined>): Config {
  const config = readConfig(env, env.SERVICE_API_STORE ? {} : { store: STORE });
  if (config.store !== STORE) {
    // What follows the scheme may hold a password.
    const scheme = config.store.replace(/:.+$/s, ":…");
    throw new ConfigError(
      `SERVICE_API_STORE must be ${STORE}, the platform's own database, or not be set here: files and memory do not ` +
        `outlive an isolate, got ${JSON.stringify(scheme)}`,
    );
  }
  if (config.keysFile !== undefined) {
    throw new ConfigError(
      "SERVICE_API_KEYS_FILE cannot be used here, where files do not last: put the key records into SERVICE_API_KEYS " +
        "(gateway keygen --record)",
    );
  }
  return config;
}

/** Says which settings do nothing here: misspelt ones, and those of a process that listens by itself. */
export function warnOfIdleSettings(env: Record<string, string | undefined>, log: Log): void {
  for (const setting of unknownSettings(env)) log.warn("unknown setting in the environment", { setting });
  for (const setting of ["SERVICE_API_HOST", "SERVICE_API_PORT", "SERVICE_API_POLL_MS"]) {
    if (env[setting]) log.warn("this setting does nothing here", { setting });
  }
}

/** The name of this runtime. */
export const runtimeName: "bun" | "deno" = typeof Bun !== "undefined" ? "bun" : "deno";

/** Whether its resolver distinguishes a name that does not exist from a name server that failed. Deno's does not. */
export const namesDnsFailures: boolean = runtimeName === "bun";

/** Its version, such as 1.4.5. */
export const runtimeVersion: string = typeof Bun !== "undefined" ? Bun.version : Deno.version.deno;

/**
 * The names of the environment's variables. Empty where Deno may read named variables only, because it then lists none.
 */
export function variableNames(env: Record<string, string | undefined>): string[] {
  try {
    return Object.keys(env);
  } catch (error) {
    if ((error as Error).name === "NotCapable") return [];
    throw error;
  }
}

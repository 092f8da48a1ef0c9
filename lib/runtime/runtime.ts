/** The name of this runtime. */
export const runtimeName: "bun" | "deno" = typeof Bun !== "undefined" ? "bun" : "deno";

/** Its version, such as 1.4.5. */
export const runtimeVersion: string = typeof Bun !== "undefined" ? Bun.version : Deno.version.deno;

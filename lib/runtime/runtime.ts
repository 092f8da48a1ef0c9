/** Which runtime this is. */
export const runtimeName: "bun" | "deno" = typeof Bun !== "undefined" ? "bun" : "deno";

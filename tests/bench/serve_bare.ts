/** Serves on a free loopback port with nothing in between; answers the port. */
export function serveBare(fetch: () => Response): number {
  if (typeof Bun !== "undefined") return Bun.serve({ hostname: "127.0.0.1", port: 0, fetch }).port!;
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, fetch).addr.port;
}

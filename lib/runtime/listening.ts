import { lookup as lookUp } from "node:dns/promises";
import { createServer, isIP } from "node:net";
import { sleep } from "../clock.ts";

/** Why a server cannot listen. */
export type ListenProblem = "unknown_host" | "foreign_address" | "port_in_use" | "not_permitted" | "other";

/** A server cannot listen; the message names host, port and reason. */
export class ListenError extends Error {
  override name = "ListenError";

  constructor(readonly kind: ListenProblem, message: string, options?: { cause?: unknown }) {
    super(message, options);
  }
}

/** Resolves a name with the machine's resolver; rejects when it is unknown. */
export type Lookup = (name: string) => Promise<{ address: string; family: number }[]>;

const LOOKUP_MS = 5_000;

/**
 * Binds with `bind` to an IP address: that of `hostname`, or one of its name, IPv4 first. The runtimes and machines
 * differ in their errors. So this finds the reason by a look-up before, and by binding another port of the address
 * after.
 * @throws {ListenError}
 */
export async function listening<T>(
  { hostname, port }: { hostname: string; port: number },
  bind: (address: string) => T,
  lookup: Lookup = (name) => lookUp(name, { all: true }),
): Promise<T> {
  const failure = (kind: ListenProblem, why: string, cause?: unknown) =>
    new ListenError(kind, `cannot listen on ${hostname}:${port}: ${why}`, { cause });
  const address = isIP(hostname) === 0 ? await addressOf(hostname, lookup) : hostname;
  if (address === undefined) {
    throw failure("unknown_host", "the host is neither an IP address nor a name that this machine knows");
  }
  try {
    return bind(address);
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    // Any other port would fail in the same way.
    if (code === "EMFILE" || code === "ENFILE") throw failure("other", "too many files are open", cause);
    if (!await hasFreePort(address)) {
      throw failure("foreign_address", "the address is not one of this machine's", cause);
    }
    if (code === "EACCES" || code === "EPERM") throw failure("not_permitted", "not permitted", cause);
    if (code === "EADDRINUSE" && port !== 0) throw failure("port_in_use", "the port is in use", cause);
    throw failure("other", message, cause);
  }
}

/** Undefined for an invalid name, and for a name that is unknown within a time limit. */
async function addressOf(name: string, lookup: Lookup): Promise<string | undefined> {
  // A host that ends in a number can only be an IPv4 address (WHATWG URL, "ends in a number"), and this one is not.
  if (!/^[\w.-]+$/.test(name) || /(^|\.)(\d+|0x[\da-f]*)\.?$/i.test(name)) return undefined;
  const done = new AbortController();
  const found = await Promise.race([lookup(name).catch(() => []), sleep(LOOKUP_MS, done.signal).then(() => [])]);
  done.abort();
  return (found.find(({ family }) => family === 4) ?? found[0])?.address;
}

/** Whether a port of this address can be bound, so that it is this machine's. */
function hasFreePort(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: address, port: 0 }, () => server.close(() => resolve(true)));
  });
}

import { Resolver } from "node:dns/promises";

/**
 * Returns all IPv4 and IPv6 addresses of a host name, at least one. The two kinds alternate (RFC 8305 §4), so that the
 * other is tried in time when one does not work.
 * @throws {ResolveError} when there is none, or no answer in time
 */
export type Resolve = (hostname: string, signal?: AbortSignal) => Promise<string[]>;

/** A host name could not be resolved. The message continues after the name: "does not exist". */
export class ResolveError extends Error {
  override name = "ResolveError";
}

export interface ResolverOptions {
  /** Name servers as `address` or `address:port`; the system's when absent. */
  servers?: string[];
  /** For the whole look-up. */
  timeoutMs?: number;
}

/** How long the resolver waits for the second kind after the first. */
const SECOND_KIND_MS = 1_000;

/**
 * Resolves names in the DNS, A and AAAA together. Not with `dns.lookup`, which uses the system's getaddrinfo: a few
 * silent name servers can block its threads for all.
 */
export function createResolver({ servers, timeoutMs = 5_000 }: ResolverOptions = {}): Resolve {
  return async function resolve(hostname, signal) {
    // A new resolver each time, because it reads the system's name servers only once.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    // The dot at the end excludes search domains.
    const name = hostname.endsWith(".") ? hostname : `${hostname}.`;
    try {
      return await addressesOf([resolver.resolve4(name), resolver.resolve6(name)], timeoutMs, signal);
    } finally {
      resolver.cancel();
    }
  };
}

/** The addresses of both kinds, or of those that arrived in time. */
function addressesOf(kinds: Promise<string[]>[], timeoutMs: number, signal?: AbortSignal): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  let addresses: string[] = [];
  const causes: unknown[] = [];
  let missing = kinds.length;

  function finish(why: string, cause?: unknown): void {
    if (addresses.length > 0) resolve(addresses);
    else reject(new ResolveError(why, { cause }));
  }
  function onKind(): void {
    missing--;
    if (missing === 0) finish(failure(causes), causes[0]);
    else if (addresses.length > 0) timers.push(setTimeout(finish, SECOND_KIND_MS, ""));
  }
  const timers = [setTimeout(finish, timeoutMs, "could not be looked up in time")];
  const onAbort = () => reject(new ResolveError("was not looked up: abandoned"));
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  for (const kind of kinds) {
    kind.then((found) => void (addresses = inTurn(addresses, found)), (cause) => void causes.push(cause)).then(onKind);
  }
  return promise.finally(() => {
    for (const timer of timers) clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  });
}

function inTurn(first: string[], second: string[]): string[] {
  const turns = first.flatMap((address, at) => [address, ...second.slice(at, at + 1)]);
  return [...turns, ...second.slice(first.length)];
}

/** The runtimes use different codes for a name without addresses and for an unknown name: one text for both. */
function failure(causes: unknown[]): string {
  const codes = causes.map((cause) => (cause as { code?: string } | undefined)?.code ?? "");
  if (codes.some((code) => code === "ETIMEOUT" || code === "ECONNREFUSED")) return "could not be looked up in time";
  const isAbsent = causes.length === 0 || codes.some((code) => code === "ENOTFOUND" || code === "ENODATA");
  return isAbsent ? "has no address in the DNS" : "could not be looked up";
}

export interface BriefCacheOptions {
  resolve: Resolve;
  /** Unix ms. */
  now: () => number;
  /** How long an answer is cached. */
  keepMs?: number;
  /** How many names are cached. */
  capacity?: number;
}

/**
 * Caches answers for a few seconds, and lets concurrent calls share a look-up. Safe for targets: the caller checks each
 * address and connects to exactly that one. So a changed name leads to its earlier address, never to an unchecked one.
 * Failures are not cached.
 */
export function keepBriefly({ resolve, now, keepMs = 5_000, capacity = 10_000 }: BriefCacheOptions): Resolve {
  interface Kept {
    answer: Promise<string[]>;
    untilMs: number;
  }
  const kept = new Map<string, Kept>();

  function ask(hostname: string): Kept {
    // Without the signal: other callers may wait for the same answer. The resolver has its own time limit.
    const asked: Kept = { answer: resolve(hostname), untilMs: Infinity };
    const forget = () => void (kept.get(hostname) === asked && kept.delete(hostname));
    asked.answer.then(() => asked.untilMs = now() + keepMs, forget);
    // Drops the oldest: maps keep the order of insertion.
    if (kept.size >= capacity) kept.delete(kept.keys().next().value!);
    kept.delete(hostname);
    kept.set(hostname, asked);
    return asked;
  }

  return function resolveBriefly(hostname) {
    const found = kept.get(hostname);
    return (found !== undefined && now() < found.untilMs ? found : ask(hostname)).answer;
  };
}

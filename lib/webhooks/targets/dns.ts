import { Resolver } from "node:dns/promises";
import { createRecentMap } from "../../bounded_map.ts";
import { sleep } from "../../clock.ts";
import { namesDnsFailures } from "../../runtime/runtime.ts";

/**
 * Returns all IPv4 and IPv6 addresses of a host name, at least one. The two kinds alternate (RFC 8305 §4), so that the
 * other is tried in time when one does not work.
 * @throws {ResolveError} when there is none, or no answer in time
 */
export type Resolve = (hostname: string) => Promise<string[]>;

/**
 * A host name could not be resolved. The message continues after the name: "has no address in the DNS". `isAbsent`: the DNS
 * answered so. Otherwise a later look-up may succeed.
 */
export class ResolveError extends Error {
  override name = "ResolveError";

  constructor(message: string, readonly isAbsent: boolean, options?: { cause?: unknown }) {
    super(message, options);
  }
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
  return async function resolve(hostname) {
    // A new resolver each time, because it reads the system's name servers only once.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    // The dot at the end excludes search domains.
    const name = hostname.endsWith(".") ? hostname : `${hostname}.`;
    try {
      return await addressesOf([resolver.resolve4(name), resolver.resolve6(name)], timeoutMs);
    } finally {
      resolver.cancel();
    }
  };
}

/** The addresses of both kinds, or of those that arrived in time. */
async function addressesOf(kinds: Promise<string[]>[], timeoutMs: number): Promise<string[]> {
  const found: string[][] = [];
  const causes: unknown[] = [];
  const answers = kinds.map((kind) => kind.then((one) => void found.push(one), (cause) => void causes.push(cause)));
  const enough = new AbortController();
  await Promise.race([
    Promise.all(answers),
    Promise.any(kinds).then(() => sleep(SECOND_KIND_MS, enough.signal), () => {}),
    sleep(timeoutMs, enough.signal),
  ]);
  enough.abort();
  const [first = [], second = []] = found;
  if (first.length + second.length > 0) return inTurn(first, second);
  const isAnswered = found.length + causes.length === kinds.length;
  if (!isAnswered) throw new ResolveError(LATE, false, { cause: causes[0] });
  throw failure(causes);
}

function inTurn(first: string[], second: string[]): string[] {
  const turns = first.flatMap((address, at) => [address, ...second.slice(at, at + 1)]);
  return [...turns, ...second.slice(first.length)];
}

const LATE = "could not be looked up in time";

/** A name without addresses and an unknown name have different codes: one text for both. */
function failure(causes: unknown[]): ResolveError {
  const [cause] = causes;
  const codes = causes.map((one) => (one as { code?: string } | undefined)?.code ?? "");
  if (codes.some((code) => code === "ETIMEOUT" || code === "ECONNREFUSED")) {
    return new ResolveError(LATE, false, { cause });
  }
  if (!codes.every((code) => code === "ENOTFOUND" || code === "ENODATA")) {
    return new ResolveError("could not be looked up: a name server failed", false, { cause });
  }
  const unless = namesDnsFailures ? "" : ", or a name server failed";
  return new ResolveError(`has no address in the DNS${unless}`, namesDnsFailures, { cause });
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
  const kept = createRecentMap<{ answer: Promise<string[]>; untilMs: number }>(capacity);
  return function resolveBriefly(hostname) {
    const found = kept.get(hostname);
    if (found !== undefined && now() < found.untilMs) return found.answer;
    const asked = { answer: resolve(hostname), untilMs: Infinity };
    asked.answer.then(() => asked.untilMs = now() + keepMs, () => asked.untilMs = -Infinity);
    kept.set(hostname, asked);
    return asked.answer;
  };
}

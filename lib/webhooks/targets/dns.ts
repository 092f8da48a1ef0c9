import { Resolver } from "node:dns/promises";

/**
 * Every IPv4 and IPv6 address that a host name has at this moment, at least one. The two kinds take turns (RFC 8305 §4):
 * where one leads nowhere, the other has its try while there is time.
 * @throws {ResolveError} when there is none, or no answer in time.
 */
export type Resolve = (hostname: string, signal?: AbortSignal) => Promise<string[]>;

/** A host name could not be looked up. The message reads on after the name: "does not exist". */
export class ResolveError extends Error {
  override name = "ResolveError";
}

export interface ResolverOptions {
  /** Name servers as `address` or `address:port`; absent: those of the system. */
  servers?: string[];
  /** For the whole look-up. */
  timeoutMs?: number;
}

/** How long the second kind of address is waited for once there are addresses of the first. */
const SECOND_KIND_MS = 1_000;

/**
 * Looks names up in the DNS: A and AAAA at once. Not `dns.lookup`: that goes through the system's getaddrinfo, whose few
 * threads a handful of silent name servers can hold up for everybody.
 */
export function createResolver({ servers, timeoutMs = 5_000 }: ResolverOptions = {}): Resolve {
  return async function resolve(hostname, signal) {
    // A fresh one each time: it reads the system's name servers only when it is made, and they may change.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    // Ends in a dot: the name as it is, never with a search domain behind it.
    const name = hostname.endsWith(".") ? hostname : `${hostname}.`;
    try {
      return await addressesOf([resolver.resolve4(name), resolver.resolve6(name)], timeoutMs, signal);
    } finally {
      resolver.cancel();
    }
  };
}

/** The addresses of all kinds; of those that came in time when one is missing. */
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

/** The runtimes disagree on the code of a name without addresses and of one that does not exist: one sentence for both. */
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
  /** How long an answer is used. */
  keepMs?: number;
  /** How many names are kept. */
  capacity?: number;
}

/**
 * Spares the look-up while an answer is a few seconds old, and asks once for all who ask at the same time. Safe for
 * targets: whoever uses an answer vets it and connects to exactly those addresses, so a name that changes meanwhile
 * is reached where it was, never where it has not been vetted. Failures are not kept.
 */
export function keepBriefly({ resolve, now, keepMs = 5_000, capacity = 10_000 }: BriefCacheOptions): Resolve {
  interface Kept {
    answer: Promise<string[]>;
    untilMs: number;
  }
  const kept = new Map<string, Kept>();

  function ask(hostname: string): Kept {
    // No signal: others may be waiting for the same answer. The resolver has its own bound.
    const asked: Kept = { answer: resolve(hostname), untilMs: Infinity };
    const forget = () => void (kept.get(hostname) === asked && kept.delete(hostname));
    asked.answer.then(() => asked.untilMs = now() + keepMs, forget);
    // The oldest goes: maps keep the order of insertion.
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

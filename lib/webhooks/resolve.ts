import { Resolver } from "node:dns/promises";

/**
 * Every IPv4 and IPv6 address that a host name has at this moment, at least one.
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

/**
 * Looks names up in the DNS: A and AAAA at once. Not `dns.lookup`: that goes through the system's getaddrinfo, whose few
 * threads one hanging name server can hold, and through /etc/hosts and search domains, which lead to nothing public.
 */
export function createResolver({ servers, timeoutMs = 5_000 }: ResolverOptions = {}): Resolve {
  return async function resolve(hostname, signal) {
    // A fresh one each time: it reads the system's name servers only when it is made, and they may change.
    const resolver = new Resolver({ timeout: Math.ceil(timeoutMs / 3), tries: 2 });
    if (servers !== undefined) resolver.setServers(servers);
    // Ends in a dot: the name as it is, never with a search domain behind it.
    const name = hostname.endsWith(".") ? hostname : `${hostname}.`;
    const lookUps = Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const answers = await inTime(lookUps, timeoutMs, signal).finally(() => resolver.cancel());
    const addresses = answers.flatMap((answer) => answer.status === "fulfilled" ? answer.value : []);
    if (addresses.length === 0) throw new ResolveError(failure(answers), { cause: reasonOf(answers) });
    return addresses;
  };
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

async function inTime<T>(work: Promise<T>, timeoutMs: number, signal: AbortSignal | undefined): Promise<T> {
  const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
  const timer = setTimeout(() => giveUp(new ResolveError("could not be looked up in time")), timeoutMs);
  const onAbort = () => giveUp(new ResolveError("was not looked up: abandoned"));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    if (signal?.aborted) onAbort();
    return await Promise.race([work, given]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function reasonOf(answers: PromiseSettledResult<unknown>[]): unknown {
  return answers.find((answer) => answer.status === "rejected")?.reason;
}

/** The runtimes disagree on the code of a name without addresses and of one that does not exist: one sentence for both. */
function failure(answers: PromiseSettledResult<unknown>[]): string {
  const codes = answers.map((answer) => answer.status === "rejected" ? (answer.reason as { code?: string })?.code : "");
  if (codes.includes("ETIMEOUT") || codes.includes("ECONNREFUSED")) return "could not be looked up in time";
  return codes.some((code) => code === "ENOTFOUND" || code === "ENODATA")
    ? "has no address in the DNS"
    : "could not be looked up";
}

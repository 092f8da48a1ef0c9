import { createRecentMap } from "../../bounded_map.ts";
import { GatewayError } from "../../errors.ts";
import { isLoopback, refusalOf } from "./addresses.ts";
import { type Resolve, ResolveError } from "./dns.ts";

/** A checked target. Post only to exactly these addresses. */
export interface CheckedTarget {
  url: URL;
  /** The host for TLS: a name without a final dot, or an address without brackets. */
  host: string;
  /** At least one. */
  addresses: string[];
}

export interface TargetPolicy {
  /**
   * Checks a webhook's URL and all current addresses of its host.
   * @throws {GatewayError} `invalid_request` with the reason
   */
  check(url: string): Promise<CheckedTarget>;
}

export interface TargetPolicyOptions {
  resolve: Resolve;
  /** Also allows `http:` and `https:` to this machine alone (127.0.0.0/8, ::1, localhost), for the sandbox. */
  allowLoopbackHttp?: boolean;
}

/** How many parsed URLs are cached: each attempt needs one. */
const RECENT_TARGETS = 1_000;
/** Longer ones are refused. */
export const MAX_URL_LENGTH = 2_048;

/** Names that never have a public host, refused without a look-up. */
const REFUSED_SUFFIXES = [".local", ".internal", ".localdomain", ".home.arpa", ".onion"] as const;

/**
 * Creates the policy for targets of webhooks: `https:`, no userinfo, no fragment, and public unicast addresses only.
 * One bad address refuses the target.
 */
export function createTargetPolicy({ resolve, allowLoopbackHttp = false }: TargetPolicyOptions): TargetPolicy {
  const more = allowLoopbackHttp ? ", or http:// to this machine (127.0.0.1, localhost)" : "";
  const accepted = createRecentMap<Target>(RECENT_TARGETS);

  /** The target of a URL, before any look-up. */
  function targetOf(text: string): Target {
    const url = parseTarget(text);
    const host = hostOf(url);
    const isLocal = allowLoopbackHttp && isThisMachine(host);
    const isAllowed = url.protocol === "https:" || (isLocal && url.protocol === "http:");
    // The parser accepts `https:1.1.1.1` and `https:///1.1.1.1` as `https://1.1.1.1`.
    const start = /^[^:]*:[/\\]*/.exec(text)![0];
    if (!isAllowed || start.toLowerCase() !== `${url.protocol}//`) {
      throw refused(`must start with https://${more}, got ${start}`);
    }
    return { url, host, isLocal };
  }

  return {
    async check(text) {
      let target = accepted.get(text);
      if (target === undefined) accepted.set(text, target = targetOf(text));
      const { url, host, isLocal } = target;
      if (isLocal) return { url, host, addresses: host === "localhost" ? ["127.0.0.1", "::1"] : [host] };
      return { url, host, addresses: await publicAddresses(host, resolve) };
    },
  };
}

/** A URL that is a valid target if its addresses are public. */
interface Target {
  url: URL;
  host: string;
  /** Whether it is this machine, and that is allowed. */
  isLocal: boolean;
}

function parseTarget(text: string): URL {
  if (text.length > MAX_URL_LENGTH) {
    throw refused(`must be at most ${MAX_URL_LENGTH} characters long, got ${text.length}`);
  }
  // The URL parser drops some of them silently. Others would reverse the text of a list.
  if (/[\s\p{Cc}\p{Cf}]/u.test(text)) throw refused("must not contain white space or control characters");
  const url = URL.parse(text);
  if (url === null) throw refused(`must be an absolute URL, got ${JSON.stringify(text)}`);
  // The parser drops an empty user name, so the text is checked too.
  if (url.username !== "" || url.password !== "" || /^[a-z]+:[/\\]*[^/\\?#]*@/i.test(text)) {
    throw refused("must not contain a user name or a password");
  }
  if (text.includes("#")) throw refused("must not have a fragment (#…)");
  if (url.port === "0") throw refused("port must be 1 to 65535, got 0");
  return url;
}

function hostOf({ hostname }: URL): string {
  if (hostname.startsWith("[")) return hostname.slice(1, -1);
  return hostname.endsWith(".") ? hostname.slice(0, -1) : hostname;
}

function isThisMachine(host: string): boolean {
  return host === "localhost" || isLoopback(host);
}

async function publicAddresses(host: string, resolve: Resolve): Promise<string[]> {
  // The URL parser has normalised every literal: a host that ends in a number is an IPv4 address.
  if (host.includes(":") || /(^|\.)\d+$/.test(host)) {
    const refusal = refusalOf(host);
    if (refusal !== undefined) throw refused(`host must be public: ${host} is ${refusal}`);
    return [host];
  }
  checkName(host);
  const addresses = await lookUp(host, resolve);
  for (const address of addresses) {
    const refusal = refusalOf(address);
    // Without the address: the URL's author must not learn how internal names resolve.
    if (refusal !== undefined) throw refused(`host must be public: ${host} resolves to ${refusal}`);
  }
  return addresses;
}

function checkName(name: string): void {
  const labels = name.split(".");
  if (name.length > 253 || labels.some((label) => label === "" || label.length > 63)) {
    throw refused(`host is not a valid name: ${name}`);
  }
  if (labels.length === 1) throw refused(`host must be public: ${name} is a name without a domain`);
  const suffix = name.endsWith("localhost") ? "localhost" : REFUSED_SUFFIXES.find((end) => `.${name}`.endsWith(end));
  if (suffix !== undefined) throw refused(`host must be public: ${name} ends in ${suffix}`);
}

async function lookUp(host: string, resolve: Resolve): Promise<string[]> {
  let addresses: string[];
  try {
    addresses = await resolve(host);
  } catch (cause) {
    const [why, retry] = cause instanceof ResolveError
      ? [cause.message, cause.isAbsent ? "never" : "same"] as const
      : ["could not be looked up", "same"] as const;
    throw new GatewayError("invalid_request", `url host ${host} ${why}`, { param: "url", cause, retry });
  }
  if (addresses.length === 0) throw refused(`host ${host} has no address in the DNS`);
  return addresses;
}

function refused(why: string): GatewayError {
  return new GatewayError("invalid_request", `url ${why}`, { param: "url" });
}

import { addressGroup } from "./ip_address.ts";

/**
 * The address of the client. Behind proxies it is the address that the outermost trusted proxy saw: with n proxies the nth
 * entry of `X-Forwarded-For` from the right. The caller may have written the entries further left. A header that is too short
 * or malformed is ignored in favour of `remoteAddress`.
 */
export function clientAddress(headers: Headers, remoteAddress: string, trustProxyHops: number): string {
  if (trustProxyHops === 0) return remoteAddress;
  const forwarded = headers.get("x-forwarded-for");
  if (forwarded === null) return remoteAddress;
  const entry = nthFromRight(forwarded, trustProxyHops);
  const address = entry === undefined ? undefined : withoutPort(entry.trim());
  return address === undefined || addressGroup(address) === undefined ? remoteAddress : address;
}

/** The nth comma-separated entry from the right; reads no further left than it must. */
function nthFromRight(text: string, n: number): string | undefined {
  let end = text.length;
  for (let left = n; left > 1; left--) {
    end = text.lastIndexOf(",", end - 1);
    if (end <= 0) return undefined;
  }
  return text.slice(text.lastIndexOf(",", end - 1) + 1, end);
}

/** Some proxies add the port: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(entry: string): string {
  const bracketed = /^\[([^\]]+)\](:\d{1,5})?$/.exec(entry);
  if (bracketed !== null) return bracketed[1]!;
  return /^[\d.]+:\d{1,5}$/.test(entry) ? entry.slice(0, entry.indexOf(":")) : entry;
}

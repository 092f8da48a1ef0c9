import { isIP } from "node:net";

/** The form of sockets, without leading zeros. */
const USUAL_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;
/** The form of some proxies: `192.000.002.007`. */
const PADDED_IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;

/**
 * The group under which an address counts, undefined when the text is no address. An IPv4 address is its own group. An IPv6
 * address counts by its /64, because one customer usually has that many. An IPv4-mapped IPv6 address counts as IPv4.
 */
export function addressGroup(text: string): string | undefined {
  if (USUAL_IPV4.test(text)) return text;
  // A zone id (RFC 4007 §11) is ignored.
  const address = PADDED_IPV4.test(text) ? text.split(".").map(Number).join(".") : text.split("%", 1)[0]!;
  const version = isIP(address);
  if (version !== 6) return version === 4 ? address : undefined;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  if (isMapped) return groups.slice(6).flatMap((group) => [group >> 8, group & 0xff]).join(".");
  return groups.slice(0, 4).map((group) => group.toString(16)).join(":") + "::/64";
}

/** The eight groups of an IPv6 address. A URL normalises the address, and turns an IPv4 part into two groups. */
function groupsOf(address: string): number[] {
  const [head = "", tail = ""] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const parsed = (half: string) => half === "" ? [] : half.split(":").map((group) => parseInt(group, 16));
  const [left, right] = [parsed(head), parsed(tail)];
  return [...left, ...new Array<number>(8 - left.length - right.length).fill(0), ...right];
}

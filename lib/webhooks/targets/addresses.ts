import { isIPv4, isIPv6 } from "node:net";

/**
 * Which addresses a webhook must not reach, and why: everything that IANA's special-purpose registries
 * (https://www.iana.org/assignments/iana-ipv4-special-registry, …-ipv6-special-registry) keep from being a public unicast
 * address, and one address inside a cloud. The reasons read on after "resolves to".
 */
const REFUSED_IPV4: readonly (readonly [range: string, reason: string])[] = [
  ["0.0.0.0/8", "an unspecified address"],
  ["10.0.0.0/8", "a private address"],
  ["100.64.0.0/10", "a shared (carrier) address"],
  ["127.0.0.0/8", "a loopback address"],
  ["169.254.0.0/16", "a link-local address"],
  ["172.16.0.0/12", "a private address"],
  ["192.0.0.0/24", "a protocol assignment"],
  ["192.0.2.0/24", "a documentation address"],
  ["192.31.196.0/24", "an AS112 address"],
  ["192.52.193.0/24", "an AMT relay address"],
  ["192.88.99.0/24", "a 6to4 relay address"],
  ["192.168.0.0/16", "a private address"],
  ["192.175.48.0/24", "an AS112 address"],
  ["198.18.0.0/15", "a benchmarking address"],
  ["198.51.100.0/24", "a documentation address"],
  ["203.0.113.0/24", "a documentation address"],
  ["224.0.0.0/4", "a multicast address"],
  ["240.0.0.0/4", "a reserved address"],
  // Answers inside one cloud's machines, and nowhere else.
  ["168.63.129.16/32", "a cloud host's own service"],
];

const REFUSED_IPV6: readonly (readonly [range: string, reason: string])[] = [
  ["::1/128", "a loopback address"],
  ["::ffff:0:0/96", "an IPv4-mapped address"],
  // Unspecified, IPv4-compatible, translated, 64:ff9b::/32.
  ["::/8", "an unspecified or translated address"],
  ["100::/64", "a discard-only address"],
  // Teredo, benchmarking, ORCHID.
  ["2001::/23", "a protocol assignment"],
  ["2001:db8::/32", "a documentation address"],
  ["2002::/16", "a 6to4 address"],
  ["3fff::/20", "a documentation address"],
  ["5f00::/16", "a segment routing address"],
  ["fc00::/7", "a private address"],
  ["fe80::/10", "a link-local address"],
  ["fec0::/10", "a private address"],
  ["ff00::/8", "a multicast address"],
];

interface Range {
  prefix: bigint;
  /** How many bits follow the prefix. */
  shift: bigint;
  reason: string;
}

const IPV4_RANGES = REFUSED_IPV4.map((entry) => parseRange(entry, 32, parseIpv4));
const IPV6_RANGES = REFUSED_IPV6.map((entry) => parseRange(entry, 128, parseIpv6));

/** Only 2000::/3 has been given out for public unicast (RFC 4291 §2.4). */
const PUBLIC_IPV6 = parseRange(["2000::/3", "a public address"], 128, parseIpv6);

/**
 * Why an address must not be connected to, such as "a private address"; undefined when it is a public unicast one.
 * What is no address at all, or has a zone id, is refused too.
 */
export function refusalOf(address: string): string | undefined {
  const ipv4 = parseIpv4(address);
  if (ipv4 !== undefined) return reasonIn(IPV4_RANGES, ipv4);
  const ipv6 = parseIpv6(address);
  if (ipv6 === undefined) return address.includes("%") ? "an address with a zone id" : "something that is no address";
  return reasonIn(IPV6_RANGES, ipv6) ?? (isIn(PUBLIC_IPV6, ipv6) ? undefined : "an address outside 2000::/3");
}

/** Whether it is an address of this very machine: 127.0.0.0/8 or ::1. */
export function isLoopback(address: string): boolean {
  return refusalOf(address) === "a loopback address";
}

function reasonIn(ranges: readonly Range[], address: bigint): string | undefined {
  return ranges.find((range) => isIn(range, address))?.reason;
}

function isIn({ prefix, shift }: Range, address: bigint): boolean {
  return address >> shift === prefix;
}

function parseRange(
  [range, reason]: readonly [string, string],
  bits: number,
  parse: (text: string) => bigint | undefined,
): Range {
  const [base, length] = range.split("/") as [string, string];
  const shift = BigInt(bits - Number(length));
  return { prefix: parse(base)! >> shift, shift, reason };
}

/** Four decimal numbers without leading zeros: whatever else may pass for an address elsewhere is none here. */
function parseIpv4(text: string): bigint | undefined {
  if (!isIPv4(text)) return undefined;
  return text.split(".").reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
}

/** RFC 4291 §2.2, by way of the URL parser, which knows every spelling and answers one of them. */
function parseIpv6(text: string): bigint | undefined {
  if (!isIPv6(text) || text.includes("%")) return undefined;
  const [head, tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split("::").map(groupsOf);
  const zeros = new Array<string>(8 - head!.length - (tail?.length ?? 0)).fill("0");
  return [...head!, ...zeros, ...(tail ?? [])].reduce((sum, group) => sum * 65_536n + BigInt(`0x${group}`), 0n);
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}

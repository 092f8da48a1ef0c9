import { BlockList, isIPv4, isIPv6 } from "node:net";
import { createRecentMap } from "../../bounded_map.ts";

/**
 * Addresses that a webhook must not reach, with the reason, which follows "resolves to" in messages. These are the
 * ranges of IANA's special-purpose registries (https://www.iana.org/assignments/iana-ipv4-special-registry,
 * …-ipv6-special-registry) that are not public unicast, and one address inside a cloud.
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
  // Answers only inside the machines of one cloud.
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

type Family = "ipv4" | "ipv6";

/** The ranges of one family: a list for each, with its reason. */
type Refused = { list: BlockList; reason: string }[];

// Separate, because a list of both would take an IPv4-mapped address for the IPv4 one.
const IPV4 = refused(REFUSED_IPV4, "ipv4");
const IPV6 = refused(REFUSED_IPV6, "ipv6");

/** Only 2000::/3 is assigned for public unicast (RFC 4291 §2.4). */
const PUBLIC_IPV6 = listOf("2000::/3", "ipv6");

/** Each post checks an address, mostly the same ones, against every list. */
const verdicts = createRecentMap<{ refusal: string | undefined }>(1_000);

/**
 * Why the gateway must not connect to an address, such as "a private address"; undefined for a public unicast one. An
 * invalid address, or one with a zone id, is refused too.
 */
export function refusalOf(address: string): string | undefined {
  let verdict = verdicts.get(address);
  if (verdict === undefined) {
    verdict = { refusal: judge(address) };
    verdicts.set(address, verdict);
  }
  return verdict.refusal;
}

function judge(address: string): string | undefined {
  // Four decimal numbers without leading zeros. Other forms count as invalid here.
  if (isIPv4(address)) return reasonIn(IPV4, address, "ipv4");
  if (address.includes("%")) return "an address with a zone id";
  if (!isIPv6(address)) return "something that is no address";
  return reasonIn(IPV6, address, "ipv6") ??
    (PUBLIC_IPV6.check(address, "ipv6") ? undefined : "an address outside 2000::/3");
}

/** Whether it is an address of this very machine: 127.0.0.0/8 or ::1. */
export function isLoopback(address: string): boolean {
  return refusalOf(address) === "a loopback address";
}

function refused(ranges: readonly (readonly [range: string, reason: string])[], family: Family): Refused {
  return ranges.map(([range, reason]) => ({ list: listOf(range, family), reason }));
}

function listOf(range: string, family: Family): BlockList {
  const list = new BlockList();
  const [network, length] = range.split("/") as [string, string];
  list.addSubnet(network, Number(length), family);
  return list;
}

function reasonIn(refused: Refused, address: string, family: Family): string | undefined {
  return refused.find(({ list }) => list.check(address, family))?.reason;
}

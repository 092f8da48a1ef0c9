/** The eight 16-bit groups of an IPv6 address, or the four bytes of an IPv4 one. */
type ParsedAddress = { version: 4; bytes: number[] } | { version: 6; groups: number[] };

/** As every socket writes it: without leading zeros. */
const USUAL_IPV4 = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/;

/**
 * The name under which an address counts: an IPv4 address as it is, IPv6 by its /64 (one customer's network holds
 * that many), IPv4-mapped IPv6 as IPv4. Undefined when the text is no address.
 */
export function addressGroup(text: string): string | undefined {
  if (USUAL_IPV4.test(text)) return text;
  const parsed = parseAddress(text);
  if (parsed === undefined) return undefined;
  if (parsed.version === 4) return parsed.bytes.join(".");
  return parsed.groups.slice(0, 4).map((group) => group.toString(16)).join(":") + "::/64";
}

/** Reads an address as text (RFC 4291 §2.2, a zone id is passed over); undefined when it is none. */
function parseAddress(text: string): ParsedAddress | undefined {
  const ipv4 = parseIpv4(text);
  if (ipv4 !== undefined) return { version: 4, bytes: ipv4 };
  const groups = parseIpv6(text.split("%", 1)[0]!);
  if (groups === undefined) return undefined;
  const [high, low] = [groups[6]!, groups[7]!];
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff;
  return isMapped ? { version: 4, bytes: [high >> 8, high & 0xff, low >> 8, low & 0xff] } : { version: 6, groups };
}

function parseIpv4(text: string): number[] | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return undefined;
  const bytes = match.slice(1).map(Number);
  return bytes.every((byte) => byte <= 255) ? bytes : undefined;
}

function parseIpv6(text: string): number[] | undefined {
  if (text.length > 45 || !text.includes(":")) return undefined;
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const parts = halves.map((half, index) => parseGroups(half, index === halves.length - 1));
  const [head, tail] = parts;
  if (head === undefined || (halves.length === 2 && tail === undefined)) return undefined;
  if (halves.length === 1) return head.length === 8 ? head : undefined;
  const zeros = 8 - head.length - tail!.length;
  return zeros < 1 ? undefined : [...head, ...new Array<number>(zeros).fill(0), ...tail!];
}

/** Groups between colons; the last two may stand as an IPv4 address. */
function parseGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const ipv4 = mayEndInIpv4 && index === parts.length - 1 ? parseIpv4(part) : undefined;
    if (ipv4 !== undefined) groups.push(ipv4[0]! * 256 + ipv4[1]!, ipv4[2]! * 256 + ipv4[3]!);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Whether a request comes from this machine and was meant for it: from a loopback address, to one by its own name (a name
 * that was made to lead here would let a page of anybody's ask), and from no page but those of this machine.
 *
 * @param remoteAddress as the socket shows it
 */
export function isFromOwnMachine(request: Request, remoteAddress: string): boolean {
  const origin = request.headers.get("Origin");
  return isLoopback(remoteAddress) && isLocalUrl(request.url) && (origin === null || isLocalUrl(origin));
}

/** False for what is no URL: a runtime makes that of a request from its `Host` header, whatever stands there. */
function isLocalUrl(url: string): boolean {
  const hostname = URL.parse(url)?.hostname;
  return hostname !== undefined && isLocalName(hostname);
}

function isLocalName(hostname: string): boolean {
  return hostname === "localhost" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}

function isLoopback(address: string): boolean {
  const plain = address.replace(/^::ffff:/i, "");
  const version = isIP(plain);
  return version !== 0 && LOOPBACK.check(plain, version === 4 ? "ipv4" : "ipv6");
}

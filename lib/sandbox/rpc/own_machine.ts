import { BlockList, isIP } from "node:net";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

/**
 * Whether a request comes from this machine: from a loopback address, to `localhost` or a loopback address, and from no
 * foreign page. A foreign host name could let any page call the sandbox (DNS rebinding).
 *
 * @param remoteAddress the address of the socket
 */
export function isFromOwnMachine(request: Request, remoteAddress: string): boolean {
  const origin = request.headers.get("Origin");
  return isLoopback(remoteAddress) && isLocalUrl(request.url) && (origin === null || isLocalUrl(origin));
}

/** Returns false for an invalid URL. The runtime builds the URL of a request from any `Host` header. */
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

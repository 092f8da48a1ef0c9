const encoder = new TextEncoder();

/**
 * A POST as it goes over the wire (RFC 9112). Asks for an answer that is not compressed: a little gzip can hold a lot.
 * @throws {TypeError} for a header that would not stay one line.
 */
export function postBytes(url: URL, headers: Record<string, string>, body: string): Uint8Array {
  const bodyBytes = encoder.encode(body);
  let head = `POST ${url.pathname}${url.search} HTTP/1.1\r\nHost: ${url.host}\r\n`;
  for (const name in headers) {
    const value = headers[name]!;
    if (/[^\t\x20-\x7e]/.test(value)) throw new TypeError(`the header ${name} has a character that no header may have`);
    head += `${name}: ${value}\r\n`;
  }
  head += `Accept: */*\r\nAccept-Encoding: identity\r\nContent-Length: ${bodyBytes.length}\r\n\r\n`;
  // All in one piece, so that it leaves in one packet.
  const bytes = new Uint8Array(head.length + bodyBytes.length);
  encoder.encodeInto(head, bytes);
  bytes.set(bodyBytes, head.length);
  return bytes;
}

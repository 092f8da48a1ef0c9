import dgram from "node:dgram";

/** The answer for a name: addresses (also an empty list), `missing`, `broken`, or no answer. */
export type DnsAnswer = string[] | "missing" | "broken" | "silent";

export interface DnsServer {
  /** For a resolver: `address:port`. */
  server: string;
  /** The questions so far, such as `A hooks.example`. */
  asked: string[];
  close(): Promise<void>;
}

const A = 1;
const AAAA = 28;
const RCODES = { missing: 3, broken: 2 } as const;

/** A DNS server that answers for every name what `answer` says; its answers may be kept for no time at all. */
export async function startDnsServer(
  answer: (name: string, type: "A" | "AAAA") => DnsAnswer,
  { address = "127.0.0.1", port = 0 } = {},
): Promise<DnsServer> {
  const socket = dgram.createSocket("udp4");
  const asked: string[] = [];
  socket.on("message", (query: Uint8Array, from) => {
    const { name, type, end } = question(query);
    const kind = type === AAAA ? "AAAA" : "A";
    asked.push(`${kind} ${name}`);
    const found = answer(name, kind);
    if (found === "silent") return;
    const records = Array.isArray(found)
      ? found.map(bytesOf).filter((data) => data.length === (type === A ? 4 : 16))
      : [];
    const rcode = Array.isArray(found) ? 0 : RCODES[found];
    const reply = [query[0]!, query[1]!, 0x81, 0x80 | rcode, 0, 1, 0, records.length, 0, 0, 0, 0];
    reply.push(...query.subarray(12, end));
    for (const data of records) reply.push(0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length, ...data);
    socket.send(Uint8Array.from(reply), from.port, from.address);
  });
  await new Promise<void>((resolve) => socket.bind(port, address, resolve));
  return {
    server: `${address}:${socket.address().port}`,
    asked,
    close: () => new Promise((resolve) => socket.close(() => resolve())),
  };
}

/** The one question of a query (RFC 1035 §4.1.2). */
function question(query: Uint8Array): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at]!; length > 0; length = query[at]!) {
    labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + length)));
    at += 1 + length;
  }
  return { name: labels.join(".").toLowerCase(), type: query[at + 1]! * 256 + query[at + 2]!, end: at + 5 };
}

function bytesOf(address: string): number[] {
  if (!address.includes(":")) return address.split(".").map(Number);
  const [head = "", tail = ""] = address.split("::");
  const groups = (text: string) => text === "" ? [] : text.split(":").map((group) => parseInt(group, 16));
  const zeros = new Array<number>(8 - groups(head).length - groups(tail).length).fill(0);
  return [...groups(head), ...zeros, ...groups(tail)].flatMap((group) => [group >> 8, group & 255]);
}

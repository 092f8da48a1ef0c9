// needs: runtime
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isLoopback, refusalOf } from "../../../lib/webhooks/targets/addresses.ts";

const F = "ffff:ffff:ffff:ffff";

/** Each refused range, its first and last address, and the neighbours outside that must stay allowed. */
const RANGES: [range: string, first: string, last: string, reason: RegExp, ...neighbours: string[]][] = [
  ["0/8", "0.0.0.0", "0.255.255.255", /unspecified/, "1.0.0.0"],
  ["10/8", "10.0.0.0", "10.255.255.255", /private/, "9.255.255.255", "11.0.0.0"],
  ["100.64/10", "100.64.0.0", "100.127.255.255", /shared/, "100.63.255.255", "100.128.0.0"],
  ["127/8", "127.0.0.0", "127.255.255.255", /loopback/, "126.255.255.255", "128.0.0.0"],
  ["169.254/16", "169.254.0.0", "169.254.255.255", /link-local/, "169.253.255.255", "169.255.0.0"],
  ["172.16/12", "172.16.0.0", "172.31.255.255", /private/, "172.15.255.255", "172.32.0.0"],
  ["192.0.0/24", "192.0.0.0", "192.0.0.255", /protocol/, "191.255.255.255", "192.0.1.0"],
  ["192.0.2/24", "192.0.2.0", "192.0.2.255", /documentation/, "192.0.1.255", "192.0.3.0"],
  ["192.31.196/24", "192.31.196.0", "192.31.196.255", /AS112/, "192.31.195.255", "192.31.197.0"],
  ["192.52.193/24", "192.52.193.0", "192.52.193.255", /AMT/, "192.52.192.255", "192.52.194.0"],
  ["192.88.99/24", "192.88.99.0", "192.88.99.255", /6to4/, "192.88.98.255", "192.88.100.0"],
  ["192.168/16", "192.168.0.0", "192.168.255.255", /private/, "192.167.255.255", "192.169.0.0"],
  ["192.175.48/24", "192.175.48.0", "192.175.48.255", /AS112/, "192.175.47.255", "192.175.49.0"],
  ["198.18/15", "198.18.0.0", "198.19.255.255", /benchmarking/, "198.17.255.255", "198.20.0.0"],
  ["198.51.100/24", "198.51.100.0", "198.51.100.255", /documentation/, "198.51.99.255", "198.51.101.0"],
  ["203.0.113/24", "203.0.113.0", "203.0.113.255", /documentation/, "203.0.112.255", "203.0.114.0"],
  ["224/4", "224.0.0.0", "239.255.255.255", /multicast/, "223.255.255.255"],
  ["240/4", "240.0.0.0", "255.255.255.255", /reserved/],
  ["168.63.129.16", "168.63.129.16", "168.63.129.16", /cloud/, "168.63.129.15", "168.63.129.17"],
  ["below 2000::/3", "::", `1fff:ffff:ffff:ffff:${F}`, /unspecified|outside/, "2000::"],
  ["::/8", "::", `ff:ffff:ffff:ffff:${F}`, /unspecified/],
  ["::1", "::1", "::1", /loopback/],
  ["mapped", "::ffff:0.0.0.0", "::ffff:255.255.255.255", /mapped/],
  ["mapped, of a public address", "::ffff:93.184.216.34", "::ffff:5db8:d822", /mapped/],
  ["compatible", "::93.184.216.34", "::5db8:d822", /unspecified or translated/],
  ["64:ff9b::/32", "64:ff9b::93.184.216.34", `64:ff9b:ffff:ffff:${F}`, /translated/],
  ["100::/64", "100::", `100::${F}`, /discard/],
  ["2001::/23", "2001::", `2001:1ff:ffff:ffff:${F}`, /protocol/, `2000:ffff:ffff:ffff:${F}`, "2001:200::"],
  ["2001:db8::/32", "2001:db8::", `2001:db8:ffff:ffff:${F}`, /documentation/, `2001:db7:ffff:ffff:${F}`, "2001:db9::"],
  ["2002::/16", "2002::", `2002:ffff:ffff:ffff:${F}`, /6to4/, `2001:ffff:ffff:ffff:${F}`, "2003::"],
  ["3fff::/20", "3fff::", `3fff:fff:ffff:ffff:${F}`, /documentation/, `3ffe:ffff:ffff:ffff:${F}`, "3fff:1000::"],
  ["above 2000::/3", "4000::", `ffff:ffff:ffff:ffff:${F}`, /outside|multicast/, `3fff:ffff:ffff:ffff:${F}`],
  ["5f00::/16", "5f00::", `5f00:ffff:ffff:ffff:${F}`, /segment/],
  ["fc00::/7", "fc00::", `fdff:ffff:ffff:ffff:${F}`, /private/],
  ["fe80::/10", "fe80::", `febf:ffff:ffff:ffff:${F}`, /link-local/],
  ["fec0::/10", "fec0::", `feff:ffff:ffff:ffff:${F}`, /private/],
  ["ff00::/8", "ff00::", `ffff:ffff:ffff:ffff:${F}`, /multicast/],
];

describe("refusalOf", () => {
  for (const [range, first, last, reason, ...neighbours] of RANGES) {
    test(`refuses ${range} from end to end${neighbours.length > 0 ? ", and not its neighbours" : ""}`, () => {
      assert.match(refusalOf(first) ?? "", reason);
      assert.match(refusalOf(last) ?? "", reason);
      for (const neighbour of neighbours) assert.equal(refusalOf(neighbour), undefined, neighbour);
    });
  }

  test("allows public unicast addresses, however they are written", () => {
    const short = [
      "1.1.1.1",
      "8.8.8.8",
      "93.184.216.34",
      "2606:4700:4700::1111",
      "2A00:1450:4001:0081::200e",
      "2600::",
    ];
    for (const address of [...short, "2606:4700:4700:0:0:0:0:1111", "2606:4700::93.184.216.34"]) {
      assert.equal(refusalOf(address), undefined, address);
    }
  });

  test("refuses any zone id", () => {
    for (const address of ["fe80::1%eth0", "2606:4700::1%1", "::1%0"]) assert.match(refusalOf(address)!, /zone id/);
  });

  test("refuses text that other parsers might read as an address", () => {
    const numbers = [
      "",
      "8.8.8",
      "08.8.8.8",
      "010.8.8.8",
      "8.8.8.8.8",
      "8.8.8.256",
      " 8.8.8.8",
      "8.8.8.8\n",
      "0x8080808",
    ];
    for (const text of [...numbers, "[2606::1]", "2606::1::2", "2606:1", "host.example"]) {
      assert.match(refusalOf(text)!, /no address/, JSON.stringify(text));
    }
  });
});

test("isLoopback knows this machine's own addresses and nothing else", () => {
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "0:0:0:0:0:0:0:1"]) assert.ok(isLoopback(address), address);
  for (const address of ["128.0.0.1", "10.0.0.1", "::2", "::", "0.0.0.0", "::ffff:127.0.0.1", "localhost"]) {
    assert.ok(!isLoopback(address), address);
  }
});

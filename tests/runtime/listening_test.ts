// needs: runtime
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { listening, type ListenProblem } from "../../lib/runtime/listening.ts";

const taken = createServer();
let port: number;
before(async () => {
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  port = (taken.address() as { port: number }).port;
});
after(() => taken.close());

const known = (...addresses: string[]) => () =>
  Promise.resolve(addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 })));
const unknown = () => Promise.reject(new Error("getaddrinfo ENOTFOUND"));
const unasked = () => Promise.reject(new Error("nobody is to be asked"));

describe("listening", () => {
  test("binds an address unchanged, and prefers an IPv4 address of a name", async () => {
    const bound = (hostname: string, lookup: Parameters<typeof listening>[2]) =>
      listening({ hostname, port: 0 }, (address) => address, lookup);
    assert.equal(await bound("127.0.0.1", unasked), "127.0.0.1");
    assert.equal(await bound("::1", unasked), "::1");
    assert.equal(await bound("gateway.internal", known("::1", "127.0.0.2")), "127.0.0.2");
    assert.equal(await bound("gateway.internal", known("::1")), "::1");
  });

  const refusedBy = (code: string) => () => {
    throw Object.assign(new Error("as the runtime says it"), { code });
  };
  const failures: [what: string, hostname: string, port: () => number, code: string, ListenProblem, why: RegExp][] = [
    // Bun's code for a foreign address differs between machines.
    ["a foreign address", "192.0.2.1", () => 0, "EADDRINUSE", "foreign_address", /not one of this machine's$/],
    ["a foreign address with a port", "192.0.2.1", () => 80, "EACCES", "foreign_address", /not one of this machine's$/],
    ["a port in use", "127.0.0.1", () => port, "EADDRINUSE", "port_in_use", /the port is in use$/],
    ["a privileged port", "127.0.0.1", () => 81, "EACCES", "not_permitted", /not permitted$/],
    ["too many open files", "127.0.0.1", () => 0, "EMFILE", "other", /too many files are open$/],
    ["an unknown error", "127.0.0.1", () => 0, "EPROTO", "other", /as the runtime says it$/],
  ];
  for (const [what, hostname, portOf, code, kind, why] of failures) {
    test(`reports ${what} correctly, also when the runtime's code is ${code}`, async () => {
      await assert.rejects(listening({ hostname, port: portOf() }, refusedBy(code), unasked), {
        kind,
        message: new RegExp(`^cannot listen on ${hostname}:${portOf()}: .*${why.source}`),
      });
    });
  }

  for (const hostname of ["256.1.1.1", "1.2.3", "0x7f.1", "12", "127.0.0.1:80", "http://a", "a b", "", "fe80::1::"]) {
    test(`refuses ${JSON.stringify(hostname)} without a lookup: it is neither address nor name`, async () => {
      await assert.rejects(listening({ hostname, port: 0 }, () => assert.fail("bound"), unasked), {
        kind: "unknown_host",
        message: `cannot listen on ${hostname}:0: the host is neither an IP address nor a name that this machine knows`,
      });
    });
  }

  test("refuses a name whose lookup fails or returns nothing", async () => {
    for (const lookup of [unknown, known()]) {
      await assert.rejects(listening({ hostname: "gateway.internal", port: 0 }, () => assert.fail("bound"), lookup), {
        kind: "unknown_host",
      });
    }
  });

  test("refuses a name whose lookup takes longer than five seconds", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const never = () => new Promise<never>(() => {});
    const outcome = assert.rejects(listening({ hostname: "gateway.internal", port: 0 }, () => 1, never), {
      kind: "unknown_host",
    });
    t.mock.timers.tick(5_000);
    await outcome;
  });
});

// needs: runtime
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { createResolver, keepBriefly, type Resolve, ResolveError } from "../../../lib/webhooks/targets/dns.ts";
import { namesDnsFailures } from "../../../lib/runtime/runtime.ts";
import { type DnsAnswer, type DnsServer, startDnsServer } from "./dns_server.ts";

const NAMES: Record<string, Partial<Record<"A" | "AAAA", DnsAnswer>>> = {
  "both.example": { A: ["93.184.216.34", "10.0.0.1"], AAAA: ["2606:4700::1111"] },
  "many.example": {
    A: ["192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"],
    AAAA: ["2606:4700::1111", "2606:4700::1112"],
  },
  "four.example": { A: ["93.184.216.34"], AAAA: [] },
  "six.example": { A: [], AAAA: ["2606:4700::1111"] },
  "half.example": { A: ["93.184.216.34"], AAAA: "broken" },
  "mute.example": { A: ["93.184.216.34"], AAAA: "silent" },
  "none.example": { A: [], AAAA: [] },
  "broken.example": { A: "broken", AAAA: "broken" },
  "silent.example": { A: "silent", AAAA: "silent" },
};

describe("the resolver", () => {
  let dns: DnsServer;
  let resolve: Resolve;
  before(async () => {
    dns = await startDnsServer((name, type) => NAMES[name]?.[type] ?? "missing");
    resolve = createResolver({ servers: [dns.server], timeoutMs: 60_000 });
  });
  after(() => dns.close());

  async function failed(name: string, given = resolve): Promise<ResolveError> {
    const error = await given(name).then(() => assert.fail(`${name} was resolved`), (error) => error);
    assert.ok(error instanceof ResolveError, String(error));
    return error;
  }
  const failure = (name: string, given?: Resolve) => failed(name, given).then(({ message }) => message);

  test("returns every address, IPv4 and IPv6, public and private", async () => {
    const addresses = await resolve("both.example");
    assert.deepEqual(addresses.toSorted(), ["10.0.0.1", "2606:4700::1111", "93.184.216.34"]);
  });

  test("alternates IPv4 and IPv6 addresses, so that a post tries both in time", async () => {
    const kinds = (await resolve("many.example")).map((address) => address.includes(":") ? 6 : 4).join("");
    assert.match(kinds, /^(464644|646444)$/);
  });

  test("returns IPv4 or IPv6 addresses when the other lookup is empty or fails", async () => {
    assert.deepEqual(await resolve("four.example"), ["93.184.216.34"]);
    assert.deepEqual(await resolve("six.example"), ["2606:4700::1111"]);
    assert.deepEqual(await resolve("half.example"), ["93.184.216.34"]);
  });

  test("does not wait long for an unanswered IPv6 lookup", async () => {
    const patient = createResolver({ servers: [dns.server], timeoutMs: 60_000 });
    const startedAt = performance.now();
    assert.deepEqual(await patient("mute.example"), ["93.184.216.34"]);
    assert.ok(performance.now() - startedAt < 30_000);
    const hasty = createResolver({ servers: [dns.server], timeoutMs: 100 });
    assert.deepEqual(await hasty("mute.example"), ["93.184.216.34"]);
  });

  test("queries the name without a search domain, and again at each call", async () => {
    const before = dns.asked.length;
    await resolve("four.example");
    await resolve("four.example");
    assert.deepEqual(
      dns.asked.slice(before).toSorted(),
      ["A four.example", "A four.example", "AAAA four.example", "AAAA four.example"],
    );
  });

  test("distinguishes an absent name from a failed name server, where the runtime does", async () => {
    for (const name of ["none.example", "nowhere.example"]) {
      const { message, isAbsent } = await failed(name);
      assert.deepEqual([message.startsWith("has no address in the DNS"), isAbsent], [true, namesDnsFailures]);
    }
    const { message, isAbsent } = await failed("broken.example");
    assert.match(message, /a name server failed$/);
    assert.equal(isAbsent, false);
    const hasty = createResolver({ servers: [dns.server], timeoutMs: 50 });
    assert.equal(await failure("silent.example", hasty), "could not be looked up in time");
  });

  test("fails at its time limit", async () => {
    assert.match(await failure("silent.example", createResolver({ servers: [dns.server], timeoutMs: 50 })), /in time/);
  });

  test("resolves a quick name while 100 silent ones wait", async () => {
    const hasty = createResolver({ servers: [dns.server], timeoutMs: 5_000 });
    let failed = 0;
    const silent = Array.from({ length: 100 }, () => failure("silent.example", hasty).then(() => failed++));
    assert.deepEqual(await resolve("four.example"), ["93.184.216.34"]);
    assert.equal(failed, 0, "they are still waited for");
    await Promise.all(silent);
  });
});

describe("keepBriefly", () => {
  function kept() {
    const clock = { nowMs: 0 };
    const asked: string[] = [];
    const answers: (string[] | Error)[] = [];
    const resolve = keepBriefly({
      resolve: (name) => {
        asked.push(name);
        const answer = answers.shift() ?? ["93.184.216.34"];
        return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
      },
      now: () => clock.nowMs,
      keepMs: 5_000,
    });
    return { clock, asked, answers, resolve };
  }

  test("makes one lookup for concurrent calls, and a new one after 5 s", async () => {
    const { clock, asked, answers, resolve } = kept();
    answers.push(["1.1.1.1"], ["2.2.2.2"]);
    const together = await Promise.all([resolve("a.example"), resolve("a.example"), resolve("a.example")]);
    assert.deepEqual(together, [["1.1.1.1"], ["1.1.1.1"], ["1.1.1.1"]]);
    clock.nowMs = 4_999;
    assert.deepEqual(await resolve("a.example"), ["1.1.1.1"]);
    clock.nowMs = 5_000;
    assert.deepEqual(await resolve("a.example"), ["2.2.2.2"]);
    assert.deepEqual(asked, ["a.example", "a.example"]);
  });

  test("does not cache a failure", async () => {
    const { answers, resolve } = kept();
    answers.push(new ResolveError("could not be looked up", false), ["1.1.1.1"]);
    await assert.rejects(resolve("a.example"), ResolveError);
    assert.deepEqual(await resolve("a.example"), ["1.1.1.1"]);
  });
});

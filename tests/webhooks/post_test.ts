import assert from "node:assert/strict";
import { after, afterEach, beforeEach, describe, test } from "node:test";
import { createPoster, type Poster, type PostResult } from "../../lib/webhooks/post.ts";
import { createTargetPolicy, type TargetPolicy } from "../../lib/webhooks/targets.ts";
import { type Answering, OK_ANSWER, type Receiver, startReceiver } from "./receiver.ts";
import { createTestCertificates } from "./test_certificates.ts";

const LOOPBACK = createTargetPolicy({ resolve: () => Promise.reject(new Error("no name")), allowLoopbackHttp: true });

/** Says of every URL that its host has these addresses. */
function vetting(...addresses: string[]): TargetPolicy {
  return {
    check(text) {
      const url = new URL(text);
      return Promise.resolve({ url, host: url.hostname.replace(/^\[|\]$/g, ""), addresses });
    },
  };
}

let receivers: Receiver[] = [];
let posters: Poster[] = [];

beforeEach(() => {
  receivers = [];
  posters = [];
});
afterEach(async () => {
  for (const poster of posters) poster.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function receiver(answer?: Answering, options = {}): Promise<Receiver> {
  const started = await startReceiver(answer, options);
  receivers.push(started);
  return started;
}

function poster(policy: TargetPolicy = LOOPBACK, options = {}): Poster {
  const created = createPoster({ policy, now: Date.now, ...options });
  posters.push(created);
  return created;
}

function post(by: Poster, url: string, options = {}): Promise<PostResult> {
  return by.post({ url, headers: { "Content-Type": "application/json" }, body: '{"a":"ü"}', ...options });
}

const at = ({ port }: Receiver, path = "/in") => `http://127.0.0.1:${port}${path}`;

/** Waits for what another party does: it comes, or the test runs out of time. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 2));
}

describe("a post", () => {
  test("carries path, query, headers and body as they are, and asks for no compression", async () => {
    const endpoint = await receiver();
    const result = await post(poster(), at(endpoint, "/in/%7Ea?b=c%20d"));
    const { durationMs, ...rest } = result;
    assert.deepEqual(rest, { statusCode: 200, responseBody: "ok", address: "127.0.0.1" });
    assert.ok(durationMs >= 0);
    assert.equal(endpoint.requests[0]!.body, '{"a":"ü"}');
    assert.deepEqual(endpoint.requests[0]!.head.split("\r\n"), [
      "POST /in/%7Ea?b=c%20d HTTP/1.1",
      `Host: 127.0.0.1:${endpoint.port}`,
      "Content-Type: application/json",
      "Accept: */*",
      "Accept-Encoding: identity",
      "Content-Length: 10",
    ]);
  });

  test("never gets a header that would become two", async () => {
    const endpoint = await receiver();
    for (const value of ["a\r\nX: b", "a\nb", "a\0", "ü"]) {
      await assert.rejects(post(poster(), at(endpoint), { headers: { "webhook-id": value } }), TypeError);
    }
    assert.equal(endpoint.connections, 0);
  });

  test("uses a connection again, and no more of them than there are posts at a time", async () => {
    const endpoint = await receiver();
    const by = poster();
    for (let i = 0; i < 5; i++) assert.equal((await post(by, at(endpoint, `/${i}`))).statusCode, 200);
    assert.equal(endpoint.connections, 1);
    await Promise.all(Array.from({ length: 10 }, () => post(by, at(endpoint))));
    assert.equal(endpoint.connections, 10);
    await Promise.all(Array.from({ length: 10 }, () => post(by, at(endpoint))));
    assert.equal(endpoint.connections, 10);
  });

  test("shares no connection between two names at one address", async () => {
    const endpoint = await receiver();
    const by = poster(vetting("127.0.0.1"));
    for (const name of ["a.example", "b.example", "a.example"]) await post(by, `http://${name}:${endpoint.port}/`);
    assert.deepEqual(endpoint.requests.map(({ connection }) => connection), [1, 2, 1]);
  });

  test("tries the next address when one can't be connected to, and says which one it was", async () => {
    const endpoint = await receiver();
    const result = await post(poster(vetting("127.0.0.2", "127.0.0.1")), `http://a.example:${endpoint.port}/`);
    assert.deepEqual([result.statusCode, result.address], [200, "127.0.0.1"]);
  });

  test("passes on a 429 with its Retry-After, and any other status", async () => {
    const answers = ["429 Slow", "500 Oops", "404 No", "204 Fine", "299 Odd", "999 What"];
    const endpoint = await receiver(({ head }) =>
      `HTTP/1.1 ${answers[Number(head[6])]}\r\nRetry-After: Wed, 21 Oct 2026 07:28:00 GMT\r\nContent-Length: 0\r\n\r\n`
    );
    const by = poster();
    for (const [index, line] of answers.entries()) {
      const result = await post(by, at(endpoint, `/${index}`));
      assert.equal(result.statusCode, Number(line.slice(0, 3)));
      assert.equal(result.retryAfter, "Wed, 21 Oct 2026 07:28:00 GMT");
      assert.equal(result.error, undefined);
    }
  });

  test("does not follow a redirect", async () => {
    const elsewhere = await receiver();
    for (const status of [301, 302, 303, 307, 308]) {
      const endpoint = await receiver(() =>
        `HTTP/1.1 ${status} Moved\r\nLocation: ${at(elsewhere)}\r\nContent-Length: 0\r\n\r\n`
      );
      assert.equal((await post(poster(), at(endpoint))).statusCode, status);
    }
    assert.equal(elsewhere.connections, 0);
  });

  test("keeps the first KiB of an answer, as text that is safe to show", async () => {
    const bodies = ["\x1b[2Jplain\ttext\r\n\u202etxet\u2028", "ü".repeat(600), "x".repeat(5_000), "\xff\xfe"];
    const endpoint = await receiver(({ head }) => {
      const body = bodies[Number(head[6])]!;
      return `HTTP/1.1 200 OK\r\nContent-Length: ${new TextEncoder().encode(body).length}\r\n\r\n${body}`;
    });
    const by = poster();
    const shown: string[] = [];
    for (const index of bodies.keys()) shown.push((await post(by, at(endpoint, `/${index}`))).responseBody);
    assert.deepEqual(shown, ["[2Jplain\ttext\ntxet", "ü".repeat(512), "x".repeat(1_024), "ÿþ"]);
  });
});

describe("an endpoint that misbehaves", () => {
  test("is given up on after the time for everything when it says nothing", async () => {
    const endpoint = await receiver(() => {});
    const result = await post(poster(), at(endpoint), { timeoutMs: 100 });
    assert.deepEqual([result.statusCode, result.error], [undefined, "timed out after 0.1 s"]);
    assert.equal(result.address, "127.0.0.1");
    await until(() => endpoint.open.size === 0);
  });

  const drips: [what: string, first: string, drip: string, statusCode: number | undefined][] = [
    ["its headers", "HTTP/1.1 200 OK\r\n", "X-Drip: y\r\n", undefined],
    ["its body", "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", "x", 200],
    ["its body without a length", "HTTP/1.1 200 OK\r\n\r\n", "x", 200],
    ["its chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", 200],
    ["interim answers", "", "HTTP/1.1 102 Processing\r\n\r\n", undefined],
  ];
  for (const [what, first, drip, statusCode] of drips) {
    test(`is cut off at that time when it drips ${what}`, async () => {
      const endpoint = await receiver((_, socket) => {
        socket.write(first);
        const timer = setInterval(() => socket.write(drip), 10);
        socket.on("close", () => clearInterval(timer));
      });
      const result = await post(poster(), at(endpoint), { timeoutMs: 150 });
      assert.deepEqual([result.statusCode, result.error], [statusCode, "timed out after 0.15 s"]);
      await until(() => endpoint.open.size === 0);
    });
  }

  test("is cut off after 64 KiB of body, and its status counts", async () => {
    const endpoint = await receiver((_, socket) => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      const more = () => void (!socket.destroyed && socket.write("x".repeat(16_384), more));
      more();
    });
    const result = await post(poster(), at(endpoint));
    assert.deepEqual([result.statusCode, result.error], [200, undefined]);
    assert.equal(result.responseBody, "x".repeat(1_024));
    await until(() => endpoint.open.size === 0);
  });

  test("gets nothing expanded", async () => {
    const endpoint = await receiver(() =>
      "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\x1f\x0b\x08\x00"
    );
    const result = await post(poster(), at(endpoint));
    assert.deepEqual([result.statusCode, result.error, result.responseBody], [200, undefined, ""]);
  });

  const failures: [what: string, answer: Answering, error: string, statusCode?: number][] = [
    ["closes without an answer", (_, socket) => void socket.end(), "connection closed before the end of the answer"],
    [
      "closes in the middle of its answer",
      (_, socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"),
      "connection closed before the end of the answer",
      200,
    ],
    ["speaks another protocol", () => "220 mail.example ESMTP\r\n\r\n", "the answer is not HTTP/1.1"],
    [
      "has endless headers",
      () => `HTTP/1.1 200 OK\r\n${"X: y\r\n".repeat(5_000)}`,
      "the headers of the answer are longer than 16 KiB",
    ],
    [
      "answers in broken chunks",
      () => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      "the answer has a malformed chunk",
      200,
    ],
  ];
  for (const [what, answer, error, statusCode] of failures) {
    test(`that ${what} is reported so, and asked once`, async () => {
      const endpoint = await receiver(answer);
      const result = await post(poster(), at(endpoint));
      assert.deepEqual([result.error, result.statusCode], [error, statusCode]);
      await until(() => endpoint.open.size === 0);
      assert.equal(endpoint.requests.length, 1);
    });
  }

  test("that is not there is reported so", async () => {
    const endpoint = await startReceiver();
    await endpoint.close();
    const { durationMs: _, ...result } = await post(poster(), at(endpoint));
    assert.deepEqual(result, { error: "connection refused", responseBody: "" });
  });

  test("can't answer the next request with what it said before it was asked", async () => {
    const endpoint = await receiver(({ connection }, socket) => {
      // Behind the answer, a moment later: what would be taken for the answer to the next request.
      if (connection === 1) setTimeout(() => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"), 20);
      return OK_ANSWER;
    });
    const by = poster();
    await post(by, at(endpoint));
    await until(() => endpoint.open.size === 0);
    assert.equal((await post(by, at(endpoint))).responseBody, "ok");
    const extra = await receiver(({ connection }) => connection === 1 ? `${OK_ANSWER}${OK_ANSWER}` : OK_ANSWER);
    await post(by, at(extra));
    assert.equal((await post(by, at(extra))).responseBody, "ok");
    assert.equal(extra.connections, 2);
  });

  test("that has closed an idle connection is connected to again", async () => {
    const endpoint = await receiver(({ connection }, socket) => {
      if (connection === 1) setTimeout(() => socket.end(), 0);
      return OK_ANSWER;
    });
    const by = poster();
    await post(by, at(endpoint));
    await until(() => endpoint.open.size === 0);
    assert.equal((await post(by, at(endpoint))).statusCode, 200);
    assert.equal(endpoint.connections, 2);
  });

  test("that closes a used connection just as the next request comes is asked once more, and not again", async () => {
    let served = 0;
    const endpoint = await receiver((_, socket) => {
      if (++served === 1) return OK_ANSWER;
      socket.destroy();
    });
    const by = poster();
    await post(by, at(endpoint));
    const result = await post(by, at(endpoint));
    assert.match(result.error!, /^connection (closed before the end of the answer|reset)$/);
    assert.equal(endpoint.requests.length, 3);
  });
});

describe("a poster", () => {
  test("gives up when it is told to, at any step", async () => {
    const endpoint = await receiver(() => {});
    const stopping = new AbortController();
    const posting = post(poster(), at(endpoint), { signal: stopping.signal });
    await until(() => endpoint.requests.length === 1);
    stopping.abort();
    assert.equal((await posting).error, "given up by the gateway");
    assert.equal((await post(poster(), at(endpoint), { signal: stopping.signal })).error, "given up by the gateway");
    const pending: TargetPolicy = { check: () => new Promise(() => {}) };
    assert.equal((await post(poster(pending), at(endpoint), { timeoutMs: 20 })).error, "timed out after 0.02 s");
    assert.equal(endpoint.requests.length, 1);
  });

  test("asks its policy at each attempt and says why a target is refused, without a connection", async () => {
    const endpoint = await receiver();
    const answers = [["93.184.216.34", "127.0.0.1"], ["127.0.0.1"], ["::ffff:127.0.0.1"]];
    const by = poster(createTargetPolicy({ resolve: () => Promise.resolve(answers.shift()!) }));
    for (const reason of ["a loopback address", "a loopback address", "an IPv4-mapped address"]) {
      const result = await post(by, `https://hooks.example:${endpoint.port}/`);
      assert.equal(result.error, `url host must be public: hooks.example resolves to ${reason}`);
    }
    assert.equal((await post(by, `http://hooks.example/`)).error, "url must start with https://, got http://");
    assert.equal(endpoint.connections, 0);
  });

  test("does not use an open connection to an address that its host no longer has", async () => {
    const endpoint = await receiver();
    const moved = await receiver(undefined, { address: "127.0.0.2", port: endpoint.port });
    let address = "127.0.0.1";
    const by = poster({ check: (url) => vetting(address).check(url) });
    await post(by, `http://hooks.example:${endpoint.port}/`);
    address = "127.0.0.2";
    await post(by, `http://hooks.example:${endpoint.port}/`);
    assert.deepEqual([endpoint.requests.length, moved.requests.length], [1, 1]);
  });

  test("connects to nothing but an address, even if its policy hands out a name", async () => {
    const endpoint = await receiver();
    const result = await post(poster(vetting("localhost")), at(endpoint));
    assert.equal(result.error, "not an address to connect to");
    assert.equal(endpoint.connections, 0);
  });

  test("closes its connections when it is closed, and those that come back later", async () => {
    const held: { answer?: () => void } = {};
    const endpoint = await receiver(({ head }, socket) => {
      if (!head.startsWith("POST /slow")) return OK_ANSWER;
      held.answer = () => void socket.write(OK_ANSWER);
    });
    const by = poster();
    const slow = post(by, at(endpoint, "/slow"));
    await until(() => held.answer !== undefined);
    await post(by, at(endpoint));
    by.close();
    await until(() => endpoint.open.size === 1);
    held.answer!();
    assert.equal((await slow).statusCode, 200);
    await until(() => endpoint.open.size === 0);
  });

  test("keeps a bounded number of connections, closing the one that waited longest", async () => {
    const by = poster(LOOPBACK, { maxIdle: 2 });
    const [a, b, c] = [await receiver(), await receiver(), await receiver()];
    for (const endpoint of [a, b, c]) await post(by, at(endpoint));
    await until(() => a.open.size === 0);
    assert.deepEqual([b.open.size, c.open.size], [1, 1]);
  });

  test("closes a connection that has waited too long", async () => {
    const endpoint = await receiver();
    await post(poster(LOOPBACK, { idleMs: 30 }), at(endpoint));
    await until(() => endpoint.open.size === 0);
  });
});

const certificates = createTestCertificates();
after(() => certificates?.remove());

describe("a post over TLS", () => {
  if (certificates === undefined) return void test("needs openssl, which is not on this machine", { skip: true });
  const { ca, issue } = certificates;
  const secure = vetting("127.0.0.1");

  async function secureReceiver(names: string, options = {}): Promise<Receiver> {
    return await receiver(undefined, { tls: issue(names, options) });
  }

  test("asks for the host by name and takes its certificate", async () => {
    const endpoint = await secureReceiver("DNS:hooks.example");
    const by = poster(secure, { ca });
    for (let i = 0; i < 3; i++) {
      const result = await post(by, `https://hooks.example:${endpoint.port}/in`);
      assert.deepEqual([result.statusCode, result.address], [200, "127.0.0.1"]);
    }
    assert.equal(endpoint.connections, 1);
    assert.equal(endpoint.requests[0]!.serverName, "hooks.example");
    assert.match(endpoint.requests[0]!.head, new RegExp(`^Host: hooks\\.example:${endpoint.port}\\r$`, "m"));
  });

  test("takes a certificate for an address when the host is one", async () => {
    const endpoint = await secureReceiver("IP:127.0.0.1");
    assert.equal((await post(poster(secure, { ca }), `https://127.0.0.1:${endpoint.port}/`)).statusCode, 200);
    assert.equal(endpoint.requests[0]!.serverName, undefined);
  });

  const refused: [what: string, names: string, error: string, options?: object][] = [
    ["for another name", "DNS:other.example", "certificate is for another name"],
    ["for a name below", "DNS:*.hooks.example", "certificate is for another name"],
    ["for the address instead of the name", "IP:127.0.0.1", "certificate is for another name"],
    ["that has expired", "DNS:hooks.example", "certificate has expired", { expired: true }],
  ];
  for (const [what, names, error, options] of refused) {
    test(`refuses a certificate ${what}, and sends nothing`, async () => {
      const endpoint = await secureReceiver(names, options);
      const result = await post(poster(secure, { ca }), `https://hooks.example:${endpoint.port}/`);
      assert.deepEqual([result.statusCode, result.error], [undefined, error]);
      assert.equal(endpoint.requests.length, 0);
    });
  }

  test("refuses a certificate of an authority that nobody trusts, and sends nothing", async () => {
    const endpoint = await secureReceiver("DNS:hooks.example");
    const result = await post(poster(secure), `https://hooks.example:${endpoint.port}/`);
    assert.equal(result.error, "certificate is from no trusted authority");
    assert.equal(endpoint.requests.length, 0);
  });

  test("says when the other side does not speak TLS, or does not finish the handshake", async () => {
    const plain = await receiver((_, socket) => void socket.end("HTTP/1.1 400 Bad\r\n\r\n"));
    const by = poster(secure, { ca });
    plain.open.forEach((socket) => socket.end());
    const result = await post(by, `https://hooks.example:${plain.port}/`, { timeoutMs: 300 });
    assert.equal(result.error, "timed out after 0.3 s");
    const mail = await receiver();
    const speaking = setInterval(() => mail.open.forEach((socket) => socket.write("220 mail.example ESMTP\r\n")), 5);
    const failed = await post(by, `https://hooks.example:${mail.port}/`);
    clearInterval(speaking);
    assert.equal(failed.error, "TLS handshake failed");
  });
});

// needs: runtime
import { strict as assert } from "node:assert";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { describe, test } from "node:test";
import { type Peer, serveHttp } from "../../lib/runtime/serve.ts";

const local = { hostname: "127.0.0.1", port: 0, idleTimeoutMs: 70_000 };

/** A promise and the function that settles it. */
function gate(): { opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => open = resolve);
  return { opened, open };
}

describe("serveHttp", () => {
  test("binds a free port, and passes requests and the peer's address to the handler", async () => {
    const server = await serveHttp({
      ...local,
      fetch: (request: Request, peer: Peer) => new Response(`${request.method} ${peer.remoteAddress}`),
    });
    assert.ok(server.port > 0);
    assert.equal(server.url, `http://127.0.0.1:${server.port}`);
    const response = await fetch(`${server.url}/x`, { method: "POST", body: "{}" });
    assert.equal(await response.text(), "POST 127.0.0.1");
    await server.stop({ drainMs: 1000 });
  });

  test("a request's signal aborts when its client disconnects before the answer", async () => {
    const left = gate();
    const release = gate();
    const arrived = gate();
    const server = await serveHttp({
      ...local,
      fetch: async ({ signal }: Request) => {
        signal.addEventListener("abort", left.open);
        arrived.open();
        await release.opened;
        return new Response("too late");
      },
    });
    const leaving = new AbortController();
    const answer = fetch(server.url, { signal: leaving.signal }).then(() => "answered", () => "left");
    await arrived.opened;
    leaving.abort();
    assert.equal(await answer, "left");
    await left.opened;
    release.open();
    await server.stop({ drainMs: 1_000 });
  });

  test("stop waits for a request in flight, and accepts no new one", async () => {
    const arrived = gate();
    const release = gate();
    const server = await serveHttp({
      ...local,
      fetch: async () => {
        arrived.open();
        await release.opened;
        return new Response("finished");
      },
    });
    const answer = fetch(server.url).then((response) => response.text());
    await arrived.opened;
    const stopped = server.stop({ drainMs: 60_000 });
    release.open();
    assert.equal(await answer, "finished");
    assert.equal(await stopped, true);
    await assert.rejects(fetch(server.url));
  });

  test("stop ends a request that outlasts the drain time, and can be called twice", async () => {
    const arrived = gate();
    const release = gate();
    const server = await serveHttp({
      ...local,
      fetch: async () => {
        arrived.open();
        await release.opened;
        return new Response("late");
      },
    });
    const outcome = fetch(server.url).then((response) => response.text(), () => "cut off");
    await arrived.opened;
    assert.equal(await server.stop({ drainMs: 20 }), false);
    await server.stop({ drainMs: 20 });
    release.open();
    assert.match(await outcome, /^(late|cut off)$/);
  });

  test("stop does not wait for connections without a complete request", async () => {
    const server = await serveHttp({ ...local, fetch: () => new Response() });
    const silent = connect(server.port, "127.0.0.1").on("error", () => {});
    const half = connect(server.port, "127.0.0.1", () => half.write("GET / HTTP/1.1\r\nHost: a\r\n")).on(
      "error",
      () => {},
    );
    const closed = new Promise<void>((resolve) => half.once("close", () => resolve()));
    // Answered on a connection that came after those two: they have been accepted.
    await (await fetch(server.url)).text();
    assert.equal(await server.stop({ drainMs: 60_000 }), true);
    await closed;
    // Bun's never got that far: the system keeps what says nothing to itself.
    silent.destroy();
  });

  test("names host, port and reason when the port is in use", async () => {
    const server = await serveHttp({ ...local, fetch: () => new Response() });
    await assert.rejects(serveHttp({ ...local, port: server.port, fetch: () => new Response() }), {
      message: `cannot listen on 127.0.0.1:${server.port}: the port is in use`,
    });
    await server.stop({ drainMs: 1000 });
  });

  const hasIpv6 = Object.values(networkInterfaces()).flat().some((at) => at?.address === "::1");
  test("writes an IPv6 host in brackets", { skip: !hasIpv6 && "this machine has no IPv6" }, async () => {
    const server = await serveHttp({ ...local, hostname: "::1", fetch: () => new Response("six") });
    assert.equal(server.url, `http://[::1]:${server.port}`);
    assert.equal(await (await fetch(server.url)).text(), "six");
    await server.stop({ drainMs: 1000 });
  });
});

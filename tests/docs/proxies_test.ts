// needs: once
import assert from "node:assert/strict";
import { test } from "node:test";
import { SETTINGS } from "../../lib/config.ts";
import { readDoc } from "./tools.ts";

test("nginx waits longer for an answer than the longest submit takes", () => {
  const seconds = Number(/proxy_read_timeout (\d+)s;/.exec(readDoc("nginx.conf"))![1]);
  assert.ok(seconds * 1000 >= Number(SETTINGS.submitTimeoutMs.standard) + 10_000);
});

test("every proxy closes idle connections before the gateway does, so that no request meets a closing connection", () => {
  const keptSeconds = Number(/\((\d+) s by default, at least 20 s\)/.exec(readDoc("behind-tls.md"))![1]);
  assert.equal(keptSeconds * 1000, Number(SETTINGS.submitTimeoutMs.standard) + 5_000);
  for (
    const [name, setting] of [["nginx.conf", /^ +keepalive_timeout (\d+)s;$/m], [
      "Caddyfile",
      /^\t+keepalive (\d+)s$/m,
    ]] as const
  ) {
    const [, seconds] = setting.exec(readDoc(name)) ?? assert.fail(`${name} leaves it at its standard`);
    assert.ok(Number(seconds) < keptSeconds, name);
  }
  assert.match(readDoc("haproxy.cfg"), /^ +option http-server-close$/m);
});

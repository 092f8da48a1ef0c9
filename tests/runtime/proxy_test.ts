// needs: runtime
import assert from "node:assert/strict";
import { test } from "node:test";
import { bypassProxyForLoopback, proxyVariableFor } from "../../lib/runtime/proxy.ts";

test("requests to this machine bypass the proxy, and NO_PROXY keeps its other hosts", () => {
  const added = "127.0.0.1,localhost,::1,[::1]";
  const cases: [env: Record<string, string>, noProxy: string | undefined][] = [
    [{}, undefined],
    [{ NO_PROXY: "node.example" }, "node.example"],
    [{ HTTP_PROXY: "http://proxy:3128" }, added],
    [{ https_proxy: "http://proxy:3128", NO_PROXY: "" }, added],
    [{ ALL_PROXY: "http://proxy:3128", no_proxy: "a.example", NO_PROXY: "b.example" }, `a.example,b.example,${added}`],
    [{ HTTP_PROXY: "http://proxy:3128", NO_PROXY: "*" }, "*"],
  ];
  for (const [env, noProxy] of cases) {
    bypassProxyForLoopback(env);
    assert.equal(env.NO_PROXY, noProxy);
  }
});

test("the name of a URL's proxy variable is returned as it is spelled in the environment", () => {
  const env = {
    HTTPS_PROXY: "http://proxy:3128",
    http_proxy: "http://proxy:3128",
    NO_PROXY: "in.example, .far.example",
  };
  const cases: [url: string, variable: string | undefined][] = [
    ["https://rpc.example/", "HTTPS_PROXY"],
    ["http://rpc.example/", "http_proxy"],
    ["https://in.example/", undefined],
    ["https://rpc.in.example/", undefined],
    ["https://rpc.far.example/", undefined],
    ["https://notin.example/", "HTTPS_PROXY"],
  ];
  for (const [url, variable] of cases) assert.equal(proxyVariableFor(url, env), variable, url);
  assert.equal(proxyVariableFor("https://rpc.example/", {}), undefined);
  assert.equal(proxyVariableFor("https://rpc.example/", { ...env, no_proxy: "*" }), undefined);
});

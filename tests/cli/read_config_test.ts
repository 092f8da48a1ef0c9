// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../cli/read_config.ts";
import { adviceWithoutKeys } from "../../cli/serve_gateway.ts";
import { ConfigError } from "../../lib/config.ts";

test("an empty list of assets is refused, because it would accept every asset", () => {
  for (const text of [" ", ",", " , "]) {
    const message = /^SERVICE_API_ASSETS must name an asset at least, .+; got " ?,? ?"$/;
    assert.throws(() => readConfig({ SERVICE_API_ASSETS: text }), { name: "ConfigError", message });
  }
  for (const text of ["", ","]) {
    assert.throws(() => readConfig({ SERVICE_API_ASSETS: "native" }, { assets: text }), ConfigError);
  }
});

test("an empty variable for assets counts as not set, so all are accepted", () => {
  assert.deepEqual(readConfig({ SERVICE_API_ASSETS: "" }).assets, undefined);
  assert.deepEqual(readConfig({}).assets, undefined);
  assert.deepEqual(readConfig({ SERVICE_API_ASSETS: "native," }).assets, ["native"]);
});

test("a * among other origins is refused, because it would accept all pages", () => {
  const refused = { name: "ConfigError", message: /^SERVICE_API_CORS_ORIGINS must be origins .+ or \* alone for all/ };
  for (const text of ["https://app.example.com,*", "*,https://app.example.com", "*,*"]) {
    assert.throws(() => readConfig({ SERVICE_API_CORS_ORIGINS: text }), refused);
  }
  assert.deepEqual(readConfig({ SERVICE_API_CORS_ORIGINS: "*," }).corsOrigins, ["*"]);
  const two = ["https://app.example.com", "http://localhost:3000"];
  assert.deepEqual(readConfig({ SERVICE_API_CORS_ORIGINS: two.join() }).corsOrigins, two);
});

test("a repeated RPC node counts once, in any spelling", () => {
  const named = (urls: string[]) => readConfig({ SERVICE_API_RPC_URL: urls.join() }).rpcUrls;
  const [a, b] = ["https://a.example.com", "https://b.example.com/rpc"];
  assert.deepEqual(named([a, b, a]), [a, b]);
  assert.equal(named([a, `${a}/`, "https://A.example.com:443"]).length, 1);
  const others = [b, `${b}/`, "https://me:one@b.example.com/rpc", "https://b.example.com/rpc?key=2"];
  assert.deepEqual(named(others), others, "another path, user or token may be another node's");
});

test("the advice for a gateway without keys names a command for the place of its keys", () => {
  assert.match(adviceWithoutKeys(readConfig({})), /`gateway keygen`/);
  const ofVariable = adviceWithoutKeys(readConfig({ SERVICE_API_KEYS: "[]" }));
  assert.match(ofVariable, /`gateway keygen --record` .*SERVICE_API_KEYS/);
});

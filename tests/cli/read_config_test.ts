// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfig } from "../../cli/read_config.ts";
import { adviceWithoutKeys } from "../../cli/serve_gateway.ts";
import { ConfigError } from "../../lib/config.ts";

test("a list of assets that names none is refused, for it would let in every asset", () => {
  for (const text of [" ", ",", " , "]) {
    const refused = {
      name: "ConfigError",
      message: /^SERVICE_API_ASSETS must name an asset at least, .+, got " ?,? ?"$/,
    };
    assert.throws(() => readConfig({ SERVICE_API_ASSETS: text }), refused);
  }
  for (const text of ["", ","]) {
    assert.throws(() => readConfig({ SERVICE_API_ASSETS: "native" }, { assets: text }), ConfigError);
  }
});

test("an empty variable for assets is one that is not set: all are let in", () => {
  assert.deepEqual(readConfig({ SERVICE_API_ASSETS: "" }).assets, undefined);
  assert.deepEqual(readConfig({}).assets, undefined);
  assert.deepEqual(readConfig({ SERVICE_API_ASSETS: "native," }).assets, ["native"]);
});

test("a * among origins is refused: it would let in the pages of all, whatever stands beside it", () => {
  const refused = { name: "ConfigError", message: /^SERVICE_API_CORS_ORIGINS must be origins .+ or \* alone for all/ };
  for (const text of ["https://app.example.com,*", "*,https://app.example.com", "*,*"]) {
    assert.throws(() => readConfig({ SERVICE_API_CORS_ORIGINS: text }), refused);
  }
  assert.deepEqual(readConfig({ SERVICE_API_CORS_ORIGINS: "*," }).corsOrigins, ["*"]);
  const two = ["https://app.example.com", "http://localhost:3000"];
  assert.deepEqual(readConfig({ SERVICE_API_CORS_ORIGINS: two.join() }).corsOrigins, two);
});

test("an RPC node that is named twice counts once, however it is written: its own word confirms nothing", () => {
  const named = (urls: string[]) => readConfig({ SERVICE_API_RPC_URL: urls.join() }).rpcUrls;
  const [a, b] = ["https://a.example.com", "https://b.example.com/rpc"];
  assert.deepEqual(named([a, b, a]), [a, b]);
  assert.equal(named([a, `${a}/`, "https://A.example.com:443"]).length, 1);
  const others = [b, `${b}/`, "https://me:one@b.example.com/rpc", "https://b.example.com/rpc?key=2"];
  assert.deepEqual(named(others), others, "another path, user or token may be another node's");
});

test("who has no keys yet is told of a command that works where his keys live", () => {
  assert.match(adviceWithoutKeys(readConfig({})), /`gateway keygen`/);
  assert.match(
    adviceWithoutKeys(readConfig({ SERVICE_API_KEYS: "[]" })),
    /`gateway keygen --record` .*SERVICE_API_KEYS/,
  );
});

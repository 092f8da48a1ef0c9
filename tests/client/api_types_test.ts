// needs: neutral
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { apiTypes } from "./api_types.ts";

test("the client's types equal the gateway's schemas", () => {
  const written = readFileSync(join(import.meta.dirname!, "../../lib/client/api_types.ts"), "utf8");
  assert.equal(written, apiTypes(), "run: bun tests/client/make_api_types.ts");
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "../lib/log.ts";

function written(format: "json" | "pretty", message: string, fields: Record<string, unknown>): string {
  let text = "";
  createLog({ level: "debug", format, now: () => 0, write: (line) => text += line }).info(message, fields);
  return text;
}

const FORGED = "/a\n12:00:00.000 error all is lost\r\u001b[2J\u009b31m\u2028\u202egnp\u0000\u007f";

test("a client's text cannot break a log line, move the cursor or reverse the text direction, in either format", () => {
  for (const format of ["json", "pretty"] as const) {
    const line = written(format, `asked for ${FORGED}`, { path: FORGED, error: new TypeError(FORGED) });
    assert.equal(line.indexOf("\n"), line.length - 1, line);
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
  }
  assert.equal(JSON.parse(written("json", "m", { path: FORGED })).path, FORGED);
  assert.match(written("pretty", "m", { path: "/a\u001b[2J" }), / path=\/a\\u001b\[2J\n$/);
});

test("the log masks API keys, signing secrets and seeds in messages and fields", () => {
  const key = "service_sk_2ErLrTPg5T_av526x9JjiO1JmM3I8bwXVdxAPET37rpOC";
  const seed = "SAV76USXIJOBMEQXPANUOQM6F5LIOTLPDIDVRJBFFE2MDJXG24TAPUU7";
  const signing = "whsec_c2VjcmV0/c2Vj+cmV0c2VjcmV0c2VjcmV0c2VjcmV0c2U=";
  for (const format of ["json", "pretty"] as const) {
    const line = written(format, `with ${key}`, {
      path: `/v1/${key}/x`,
      nested: { list: [seed, signing] },
      cause: new Error(`upper ${key.toUpperCase()} and ${seed}`),
    });
    for (const secret of ["av526x9JjiO1", "AV526X9JJIO1", seed, "cmV0c2Vj"]) assert.ok(!line.includes(secret), line);
    assert.match(line, /\/v1\/service_sk_…\/x/);
  }
});

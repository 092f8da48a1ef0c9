// needs: once
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, describe, test } from "node:test";
import { runCommandLine } from "../../cli/command_line.ts";
import { deliveryLine } from "../../cli/delivery_line.ts";
import { findingText, warn } from "../../cli/doctor/findings.ts";
import { escaped } from "../../lib/http/pages/docs/markdown.ts";
import { createLog } from "../../lib/log.ts";
import { createRegistry } from "../../lib/metrics/exposition.ts";
import { parseExposition } from "../exposition.ts";
import { gatewayOfFile } from "../http/test_gateway.ts";
import { sampleKey } from "../store/samples.ts";
import { sampleAttempt } from "../store/webhook_samples.ts";
import { eventAt, subscriptionOf } from "../webhooks/parts.ts";
import { fakeIo } from "./fake_io.ts";
import { storeBeside } from "./store_beside.ts";

/*
 * The same texts as strangers choose them, in each place that shows some: commands, log, metrics, webhooks, pages. The records
 * go into the store as they are, as if no check had seen them.
 */
const HOSTILE: Record<string, string> = {
  "clears the screen": "pay\u001b[2J\u001b[1;1H",
  "renames the window": "\u001b]0;all is well\u0007",
  "an escape of eight bits": "\u009b31mred",
  "reverses the text": "\u202egpj.exe\u2066",
  "hides a part": "pay\u200b\u00ad\u2060pal\ufeff",
  "begins another line": "ok\r\n12:00:00.000 error all is lost",
  "ends a line elsewhere": "a\u2028b\u2029c\u0085d\u000be",
  "a null": "before\u0000after",
  "a tag": "\udb40\udc41",
  "markup": `"><img src=x onerror='alert(1)'></td><script>alert(2)</script>`,
  "a formula": `=HYPERLINK("http://evil.example","pay")`,
  "a label": `x"} 1\ngateway_up 0\n#\\`,
};
const TEXTS = Object.entries(HOSTILE);
/** The texts that a command can meet: no store and no argument has a null. */
const STORED = TEXTS.filter(([, text]) => !text.includes("\0"));
/** No line may contain one of these characters. */
const STEERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

function assertLines(output: string, what: string, lines?: number): void {
  const rows = output.replace(/\n$/, "").split("\n");
  for (const row of rows) assert.doesNotMatch(row.replaceAll("\t", ""), STEERS, `${what}: ${JSON.stringify(row)}`);
  if (lines !== undefined) assert.equal(rows.length, lines, `${what}: ${output}`);
}

describe("on the command line", () => {
  const beside = storeBeside(async (store) => {
    for (const [n, [, text]] of STORED.entries()) {
      await store.keys.insert(sampleKey(`key${n}`, { name: text }));
      const url = `https://shop.example/${text}`;
      await store.subscriptions.insert(subscriptionOf(`wh_${n}`, { keyId: `key${n}`, url }), 100);
      const failed = { outcome: "retry", statusCode: 500, error: text, responseBody: text } as const;
      await store.deliveries.recordAttempt("wh_0", { ...sampleAttempt(n), ...failed });
    }
  });

  async function printed(args: string[], columns?: number) {
    const io = fakeIo({ isTerminal: columns !== undefined, columns });
    const code = await runCommandLine([...args, "--store", beside.setting], io);
    return { code, out: io.out, err: io.err };
  }

  const LISTS = [["keys", "list"], ["webhooks", "list"], ["webhooks", "deliveries", "wh_0"]];

  test("lists have one line for each row, on a terminal of any width and in a file", async () => {
    for (const args of LISTS) {
      for (const columns of [undefined, 80, 300]) {
        const { out } = await printed(args, columns);
        assertLines(out, args.join(" "), STORED.length + (columns === undefined ? 0 : 1));
      }
    }
  });

  test("one record is shown in the lines of its fields", async () => {
    for (const [n, [what]] of STORED.entries()) {
      assertLines((await printed(["keys", "show", `key${n}`])).out, what, 9);
      assertLines((await printed(["keys", "disable", `key${n}`])).out, what, 1);
      assertLines((await printed(["webhooks", "replay", `wh_${n}`, "--from-ledger", "1", "--dry-run"], 80)).out, what);
    }
  });

  test("JSON keeps the text, in one line without control characters", async () => {
    for (const args of LISTS) {
      const { out } = await printed([...args, "--json"]);
      assertLines(out, args.join(" "), STORED.length);
      const shown = out.trimEnd().split("\n").map((line) => JSON.parse(line));
      const texts = shown.map(({ name, url, error }) => name ?? error ?? url.slice("https://shop.example/".length));
      assert.deepEqual(texts.toSorted(), STORED.map(([, text]) => text).toSorted());
    }
  });

  test("an error names the given text on one line", async () => {
    for (const [what, text] of STORED) {
      const { code, err } = await printed(["keys", "show", text]);
      assert.equal(code, 1, what);
      assertLines(err, what, 1);
    }
  });

  test("a delivery and a node's answer are one line each", () => {
    for (const [what, text] of TEXTS) {
      const { raw: _, ...event } = { ...eventAt(7), raw: undefined };
      const line = deliveryLine(
        { ...event, type: text, merchant: text, amount: text } as never,
        undefined,
        0,
        Infinity,
      );
      assertLines(line, what, 1);
      assertLines(findingText(warn("node", `it answered ${text}`, "look"), Infinity), what, 2);
    }
  });
});

test("in the log each text stays on its line, in both formats", () => {
  for (const [what, text] of TEXTS) {
    for (const format of ["json", "pretty"] as const) {
      let out = "";
      createLog({ level: "info", format, now: () => 0, write: (line) => out += line })
        .warn("delivery failed", { error: text, [text]: "as a name" });
      assertLines(out, what, 1);
      if (format === "json") assert.equal(JSON.parse(out).error, text);
    }
  }
});

test("in the metrics each text is the value of its label", () => {
  const registry = createRegistry();
  const family = registry.counter("asked_total", "Asked.", ["what"]);
  for (const [, text] of TEXTS) family.with(text).inc();
  const samples = parseExposition(registry.render()).get("asked_total")!.samples;
  assert.equal(registry.render().split("\n").length, TEXTS.length + 3);
  assert.deepEqual(samples.map(({ labels }) => labels.what), TEXTS.map(([, text]) => text));
});

test("on a page each text is escaped", () => {
  for (const [what, text] of TEXTS) assert.doesNotMatch(escaped(text), /[<>"']|&(?!#\d+;)/, what);
});

describe("in a webhook", () => {
  const { api } = gatewayOfFile({ targets: { allowLoopbackHttp: true } });
  const requests: { url: string; headers: string[] }[] = [];
  let answer = "";
  const server = createServer((request, response) => {
    requests.push({ url: request.url!, headers: request.rawHeaders });
    response.writeHead(500).end(answer);
  });
  before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
  after(() => void server.close());
  const receiverUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const create = (url: string) => api.request("POST", "/v1/webhooks", { body: { url } });

  test("a URL is refused, or sent as one request line without further headers", async () => {
    for (const [what, text] of TEXTS) {
      const { status, body } = await create(`${receiverUrl()}/hook?name=${text}`);
      if (STEERS.test(text) || /[\s#]/.test(text)) {
        assert.deepEqual([status, body.error?.param], [400, "url"], what);
        continue;
      }
      assert.equal(status, 201, what);
      await api.request("POST", `/v1/webhooks/${body.id}/test`);
      const { url, headers } = requests.at(-1)!;
      assert.match(url, /^[\x21-\x7e]+$/, what);
      assert.equal(new URL(url, receiverUrl()).searchParams.get("name"), text, what);
      for (const part of headers) assert.match(part, /^[\x20-\x7e]*$/, what);
    }
  });

  test("a receiver's answer is stored without control characters except tabs and line breaks", async () => {
    const { body: { id } } = await create(`${receiverUrl()}/answers`);
    // At most six tests a minute.
    const answers = [TEXTS.slice(0, 6), TEXTS.slice(6)].map((some) => some.map(([, text]) => text).join(" "));
    for (const text of answers) {
      answer = text;
      const { body: { attempt } } = await api.request("POST", `/v1/webhooks/${id}/test`);
      assertLines(attempt.responseBody, text);
      assert.ok(attempt.responseBody.length > 50);
    }
  });
});

// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { createGatewayClient } from "../../lib/client/client.ts";

const gap = 'event: gap\ndata: {"reason":"not_read"}\n\n';
const stream = (body: string | ReadableStream) =>
  Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
const first: [what: string, notice: string, answer: () => Promise<Response>][] = [
  ["a gap", "gap", () => stream(gap)],
  ["a stream that ends", "away", () => stream("")],
  ["a stream that breaks off", "away", () => {
    const broken = new ReadableStream({ start: (controller) => controller.error(new TypeError("reset")) });
    return stream(broken);
  }],
  ["a gateway that is away", "away", () => Promise.reject(new TypeError("refused"))],
];
for (const [what, type, answer] of first) {
  test(`an error that onNotice throws at ${what} ends the feed and reaches the reader unchanged`, async () => {
    let opened = 0;
    let notices = 0;
    const gateway = createGatewayClient({
      baseUrl: "http://gateway.test",
      fetch: () => ++opened === 1 ? answer() : Promise.resolve(Response.json({}, { status: 400 })),
    });
    const feed = gateway.events({
      onNotice(notice) {
        notices += 1;
        if (notice.type === type) throw new RangeError("stop here");
      },
    });
    await assert.rejects(Array.fromAsync(feed), RangeError);
    assert.deepEqual([opened, notices], [1, 1]);
  });
}

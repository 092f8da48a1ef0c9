// needs: neutral
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import type { AnySpec } from "../../lib/http/endpoint_spec.ts";
import type { RequestContext } from "../../lib/http/request_context.ts";
import { checkedBody } from "../../lib/http/validation/body.ts";

/** The size of a runtime's read buffer, which it allocates even for a single byte. */
const CHUNK_BYTES = 64 * 1024;
const CHUNKS = 6_000;
const WATCHED = 1_000;

function read(body: ReadableStream<Uint8Array>, bodyTimeoutMs: number): Promise<unknown> {
  const headers = { "content-type": "application/json" };
  const request = new Request("http://gateway.test/", { method: "POST", headers, body, ...{ duplex: "half" } });
  const spec = { body: z.array(z.number()) } as unknown as AnySpec;
  return checkedBody(spec, { request, parts: { bodyTimeoutMs } } as RequestContext)!;
}

/** Bun's garbage collection. Other runtimes collect by themselves when there is enough garbage. */
const collect = (globalThis as { Bun?: { gc(isSynchronous: boolean): void } }).Bun?.gc;

/** How many chunks are still in memory after half of them are collected, or after 4 GB of garbage. */
async function heldWhenCollected(chunks: WeakRef<Uint8Array>[]): Promise<number> {
  for (let megabytes = 0;; megabytes += 8) {
    collect?.(true);
    const held = chunks.filter((chunk) => chunk.deref() !== undefined).length;
    if (held < WATCHED / 2 || megabytes > 4_000) return held;
    new Uint8Array(8 * 1024 * 1024).fill(1);
    await wait(1);
  }
}

test("the gateway does not keep the chunks of a body that arrives byte by byte", async () => {
  const text = new TextEncoder().encode(`[${"1,".repeat(CHUNKS / 2 - 2)}1 ]`);
  const chunks: WeakRef<Uint8Array>[] = [];
  let held = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const at = chunks.length;
      if (at % 500 === 0) await wait(1);
      if (at === text.length - 1) held = await heldWhenCollected(chunks.slice(0, WATCHED));
      const chunk = new Uint8Array(CHUNK_BYTES).subarray(0, 1);
      chunk[0] = text[at]!;
      chunks.push(new WeakRef(chunk));
      controller.enqueue(chunk);
      if (at === text.length - 1) controller.close();
    },
  }, { highWaterMark: 0 });
  assert.equal(((await read(body, 30_000)) as number[]).length, CHUNKS / 2 - 1);
  assert.ok(held < WATCHED / 2, `${held} of the first ${WATCHED} chunks are held at the end`);
});

test("the gateway refuses a body that does not end in time with 408, and stops reading it", async () => {
  let pulled = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      pulled += 1;
      await wait(20);
      controller.enqueue(new TextEncoder().encode("1"));
    },
  }, { highWaterMark: 0 });
  await assert.rejects(read(body, 100), { status: 408, message: "the body must arrive within 0.1 s: send it again" });
  const sofar = pulled;
  await wait(200);
  assert.ok(pulled <= sofar + 1, `${pulled - sofar} more`);
});

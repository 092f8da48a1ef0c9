import assert from "node:assert/strict";
import type { Browser } from "playwright-core";
import { createClient } from "../e2e/client.ts";
import type { SandboxInfo } from "../e2e/sandbox_process.ts";
import { signedIn } from "./console.ts";

/**
 * A newcomer opens the console of a sandbox and plays the life of a card in it, signed in the page. Told to the sources on
 * both runtimes and to the executable.
 */
export async function tellLife(browser: Browser, sandbox: SandboxInfo): Promise<void> {
  const console = await signedIn(browser, sandbox);
  const { page } = console;
  await console.go("sandbox", "Sandbox");
  await page.getByRole("button", { name: "Step 1: The owner registers the card" }).click();
  await console.shows(".steps li:nth-child(1)", "confirmed");
  await page.getByRole("button", { name: "Play the rest" }).click();
  for (let step = 2; step <= 9; step++) await console.shows(`.steps li:nth-child(${step})`, /confirmed.*event heard/);
  assert.ok(await page.getByRole("button", { name: "Its life is over" }).isDisabled());

  const api = createClient(sandbox.gateway, sandbox.apiKey);
  const deviceHash = await page.locator("main code").first().textContent();
  const { events } = (await api.get("/v1/events?limit=20")).body;
  const types = events.map(({ type }: { type: string }) => type);
  assert.deepEqual(types, [
    "device.registered",
    "agent.registered",
    "escrow.funded",
    "payment.authorized",
    "payment.claimed",
    "escrow.defunded",
    "agent.revoked",
    "escrow.swept",
    "device.revoked",
  ]);
  assert.equal(events[0].deviceHash, deviceHash);
  assert.deepEqual(console.complaints, []);
  const elsewhere = console.asked.filter((url) => !url.startsWith(`${sandbox.gateway}/`));
  assert.deepEqual(elsewhere, [], "nobody but the gateway is asked");
  await console.close();
}

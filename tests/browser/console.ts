import type { Browser } from "playwright-core";
import type { SandboxInfo } from "../e2e/sandbox_process.ts";
import { type Opening, openPage, type Watched } from "./browser.ts";

/** The console in a browser, with the few ways of moving through it. */
export interface Console extends Watched {
  /** Goes to a screen and waits for its heading. */
  go(path: string, title: string): Promise<void>;
  /** The text of what is shown there, once it holds this. */
  shows(selector: string, text: string | RegExp): Promise<string>;
}

/** Opens the console of a gateway; not signed in. */
export async function openConsole(
  browser: Browser,
  { gateway }: Pick<SandboxInfo, "gateway">,
  opening?: Opening,
): Promise<Console> {
  const watched = await openPage(browser, opening);
  const { page } = watched;
  await page.goto(`${gateway}/console`);
  await page.waitForSelector("#key");
  return {
    ...watched,
    async go(path, title) {
      await page.evaluate((hash) => location.hash = hash, `#/${path}`);
      await page.locator("h1", { hasText: new RegExp(`^${title}$`) }).waitFor();
    },
    async shows(selector, text) {
      const found = page.locator(selector).filter({ hasText: text }).first();
      await found.waitFor();
      return (await found.textContent()) ?? "";
    },
  };
}

/** Opens the console and signs in with the sandbox's key, as a newcomer does. */
export async function signedIn(browser: Browser, sandbox: SandboxInfo, opening?: Opening): Promise<Console> {
  const opened = await openConsole(browser, sandbox, opening);
  await opened.page.getByRole("button", { name: "Use the sandbox's key" }).click();
  await opened.shows("h1", "Overview");
  return opened;
}

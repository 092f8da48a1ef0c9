import { Hono } from "hono";
import { plainResponse } from "../response.ts";
import type { AppEnv } from "../request_context.ts";
import { recognize } from "../middleware/authenticate.ts";
import { type Examples, openApiDocument } from "../openapi.ts";
import { NOUNS } from "../routes/routes.ts";
import { CONSOLE_FILES } from "./console/files.ts";
import { DOCS_FILES } from "./docs/files.ts";
import { type NetworkExample, withValuesOf } from "../../escrow/example_values.ts";
import { createPageAnswer, leadToPage, type PageFile, textFile } from "./page_file.ts";
import { REFERENCE_FILES } from "./reference/files.ts";

/** Everything that is for browsers. A page of more files lists them in a file of its own: `pages/console/files.ts`. */
function pageFiles(version: string, exampleValues: NetworkExample | undefined): PageFile[] {
  return [
    // What all pages share: colours, type and controls; addresses.
    textFile("/assets/base.css", () => import("./assets/base.css", { with: { type: "text" } })),
    textFile("/assets/icon.svg", () => import("./assets/icon.svg", { with: { type: "text" } })),
    textFile("/assets/strkey.js", () => import("./assets/strkey.js", { with: { type: "text" } })),
    ...DOCS_FILES,
    ...REFERENCE_FILES,
    ...CONSOLE_FILES,
    {
      path: "/openapi.json",
      read: async () => {
        const { default: examples } = await import("../openapi_examples.json", { with: { type: "json" } });
        const text = JSON.stringify(openApiDocument(NOUNS, version, examples as Examples));
        return exampleValues === undefined ? text : withValuesOf(exampleValues, text);
      },
    },
  ];
}

/**
 * The pages for browsers. They need no API key, take nothing of its rate, and show nothing of the deployment.
 * @param exampleValues of a sandbox: the values in the examples of /openapi.json
 */
export function pages(version: string, exampleValues?: NetworkExample): Hono<AppEnv> {
  const app = new Hono<AppEnv>();
  for (const file of pageFiles(version, exampleValues)) {
    const answer = createPageAnswer(file);
    app.get(file.path, async ({ env: exchange }) => {
      await recognize(exchange);
      return plainResponse(exchange, await answer(exchange.request));
    });
    if (!isPage(file)) continue;
    app.get(`${file.path}/`, async ({ env: exchange }) => {
      await recognize(exchange);
      return plainResponse(exchange, leadToPage(file));
    });
  }
  return app;
}

/** Whether it has an address that people type; what a page consists of has an ending. */
function isPage({ path }: PageFile): boolean {
  return !path.includes(".");
}

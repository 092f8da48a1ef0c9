import { openApiDocument } from "../lib/http/openapi.ts";
import { describedRoutes } from "../lib/http/routes.ts";
import { VERSION } from "../lib/version.ts";
import type { Command } from "./command.ts";

export const command: Command = {
  name: "openapi",
  summary: "Print the OpenAPI description",
  help: `Usage: gateway openapi > openapi.json

Prints the OpenAPI 3.1 description of the HTTP surface, the same that a running gateway
serves at /openapi.json. Nothing of a deployment is in it.
`,
  run(_args, io) {
    io.stdout(JSON.stringify(openApiDocument(describedRoutes(), VERSION), null, 2) + "\n");
    return Promise.resolve(0);
  },
};

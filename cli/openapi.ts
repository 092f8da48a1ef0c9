import { type Examples, openApiDocument } from "../lib/http/openapi.ts";
import { NOUNS } from "../lib/http/routes/routes.ts";
import { VERSION } from "../lib/version.ts";
import { type Command, parseFlags, refuseExtra } from "./command.ts";
import { helpText } from "./help.ts";

export const command: Command = {
  help: helpText({
    usage: ["openapi"],
    about:
      "Prints the OpenAPI 3.1 description of the HTTP API. A running gateway serves the same at /openapi.json. It " +
      "holds no data of a deployment.",
    examples: ["gateway openapi > openapi.json", "gateway openapi | jq '.paths | keys'"],
  }),
  async run(args, io) {
    refuseExtra(parseFlags(args, []).positionals);
    const { default: examples } = await import("../lib/http/openapi_examples.json", { with: { type: "json" } });
    io.stdout(JSON.stringify(openApiDocument(NOUNS, VERSION, examples as Examples), null, 2) + "\n");
    return 0;
  },
};

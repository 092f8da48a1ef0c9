import { VERSION } from "../lib/version.ts";
import type { Command } from "./command.ts";

export const command: Command = {
  name: "version",
  summary: "Print the version",
  help: "Usage: gateway version\n\nPrints the version of this program.\n",
  run(_args, io) {
    io.stdout(`${VERSION}\n`);
    return Promise.resolve(0);
  },
};

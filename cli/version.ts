import process from "node:process";
import { runtimeName, runtimeVersion } from "../lib/runtime/runtime.ts";
import { COMMIT, VERSION } from "../lib/version.ts";
import { type Command, parseFlags, refuseExtra } from "./command.ts";
import { helpText, jsonRow } from "./help.ts";

export const command: Command = {
  name: "version",
  summary: "Print the version",
  help: helpText({
    usage: ["version [--json]"],
    about: "Prints the version of this program, the commit it was built from (nothing from sources), the runtime " +
      "inside and the platform.",
    flags: [jsonRow("version, commit, runtime, runtimeVersion, platform")],
    examples: ["gateway version", "gateway version --json"],
  }),
  run(args, io) {
    const { flags, positionals } = parseFlags(args, { json: "switch" });
    refuseExtra(positionals);
    const platform = `${process.platform}-${process.arch}`;
    if (flags.json) {
      const all = { version: VERSION, commit: COMMIT ?? null, runtime: runtimeName, runtimeVersion, platform };
      io.stdout(JSON.stringify(all) + "\n");
    } else {
      const commit = COMMIT === undefined ? "" : `commit ${COMMIT}, `;
      io.stdout(`${VERSION} (${commit}${runtimeName} ${runtimeVersion}, ${platform})\n`);
    }
    return Promise.resolve(0);
  },
};

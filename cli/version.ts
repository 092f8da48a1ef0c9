import process from "node:process";
import { runtimeName, runtimeVersion } from "../lib/runtime/runtime.ts";
import { COMMIT, VERSION } from "../lib/version.ts";
import { type Command, type CommandIo, parseFlags, refuseExtra } from "./command.ts";
import { helpText, jsonRow } from "./help.ts";
import type { Notice, Notices } from "./notices.ts";

const FLAGS = [
  jsonRow(
    "version, commit, runtime, runtimeVersion, platform; with --licenses: packages, reference, crates, texts",
  ),
  ["--licenses", "Print the third-party parts of this program and their licenses instead"],
] as const;

export const command: Command = {
  help: helpText({
    usage: ["version [--json]", "version --licenses [--json]"],
    about:
      "Prints the version of this program, its runtime and platform. An executable also prints the commit it was " +
      "built from.",
    flags: FLAGS,
    examples: ["gateway version", "gateway version --json", "gateway version --licenses | less"],
  }),
  async run(args, io) {
    const { flags, positionals } = parseFlags(args, FLAGS);
    refuseExtra(positionals);
    if (flags.licenses) await printLicenses(io, flags.json ?? false);
    else printVersion(io, flags.json ?? false);
    return 0;
  },
};

function printVersion(io: CommandIo, isJson: boolean): void {
  const platform = `${process.platform}-${process.arch}`;
  if (isJson) {
    const all = { version: VERSION, commit: COMMIT ?? null, runtime: runtimeName, runtimeVersion, platform };
    io.stdout(JSON.stringify(all) + "\n");
    return;
  }
  const commit = COMMIT === undefined ? "" : `commit ${COMMIT}, `;
  io.stdout(`${VERSION} (${commit}${runtimeName} ${runtimeVersion}, ${platform})\n`);
}

/** The licenses of the runtimes, and where each lists its own parts. */
const RUNTIMES = {
  bun: "MIT, with JavaScriptCore and WebKit (LGPL-2.0-or-later, BSD-2-Clause) and others, all named at " +
    "https://bun.com/docs/project/license",
  deno: "MIT, with V8 (BSD-3-Clause) and others, all named in https://github.com/denoland/deno",
};

async function printLicenses(io: CommandIo, isJson: boolean): Promise<void> {
  const { default: notices }: { default: Notices } = await import("./notices.json", { with: { type: "json" } });
  if (isJson) return io.stdout(JSON.stringify(notices) + "\n");
  const { packages, reference, crates, texts } = notices;
  const line = ({ name, version, license, texts }: Notice) =>
    `  ${name} ${version}: ${license}${texts.map((index) => ` [${index + 1}]`).join("")}\n`;
  io.stdout(
    `gateway ${VERSION}: Apache-2.0\n\nIts runtime is ${runtimeName} ${runtimeVersion}: ${RUNTIMES[runtimeName]}\n\n` +
      `Packages of npm in it:\n${packages.map(line).join("")}\n` +
      `In the script of the API reference at /docs/reference:\n${reference.map(line).join("")}\n` +
      `Crates in the sandbox's engine and contracts, beside Rust's standard library (MIT OR Apache-2.0):\n` +
      `${crates.map(line).join("")}\n` +
      texts.map((text, index) => `[${index + 1}] ${"-".repeat(76)}\n\n${text}\n`).join("\n"),
  );
}

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import packageJson from "../package.json" with { type: "json" };
import type { Notice } from "../cli/notices.ts";
import { type Found, noticesOf, ROOT, sorted } from "./notices.ts";

/** The folder of the API reference's script, which executables embed. */
export const REFERENCE = join(ROOT, "lib/http/pages/reference");

/** `manifest.json` in that folder. */
export interface ReferenceManifest {
  package: string;
  version: string;
  /** Hash of the unpacked script, in hex. */
  sha256: string;
}

/** `notices.json` in that folder, which `./compile.sh notices` reads. */
export interface ReferenceNotices {
  parts: Notice[];
  texts: string[];
}

/** The packages in the script: the last package in each path of its source map. */
function namesInside(map: { sources: string[] }): Map<string, string | undefined> {
  const names = new Map<string, string | undefined>();
  for (const source of map.sources) {
    const own = /^(?:\.\.\/){3}([a-z-]+)\/dist\//.exec(source)?.[1];
    if (own !== undefined) names.set(`@scalar/${own}`, undefined);
    const found = [...source.matchAll(/node_modules\/((?:@[^/]+\/)?[^/@.][^/]*)\//g)].at(-1)?.[1];
    // pnpm's folder of a package names its version.
    const version = found && new RegExp(`\\.pnpm/${found.replace("/", "\\+")}@([0-9][^_/(]*)`).exec(source)?.[1];
    if (found !== undefined) names.set(found, version);
  }
  return names;
}

/** The folder of each part, which holds its license, and its version in the script. */
function partsInside(modules: string, map: { sources: string[] }): Found[] {
  const packageOf = (name: string) => JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8"));
  const names = namesInside(map).set(PACKAGE, undefined);
  // Scalar's own packages come bundled, so no path names their dependencies.
  for (const own of [...names.keys()].filter((name) => name.startsWith("@scalar/"))) {
    for (const name of Object.keys(packageOf(own).dependencies ?? {})) {
      if (existsSync(join(modules, name)) && !names.has(name)) names.set(name, undefined);
    }
  }
  const parts = [...names].map(([name, inside]) => {
    const { version, license } = packageOf(name);
    return { name, version: inside ?? version, license, folder: join(modules, name) };
  });
  return sorted(parts);
}

const PACKAGE = "@scalar/api-reference";

/**
 * Fetches the script of the API reference in the version of package.json, and stores it compressed. It copies the license of
 * each part to the same folder, for `./compile.sh notices`.
 */
function renewReference(): void {
  const folder = mkdtempSync(join(tmpdir(), "reference-"));
  try {
    const version = packageJson.config.scalar;
    writeFileSync(join(folder, "package.json"), "{}");
    const install = (packages: string[]) =>
      execFileSync(
        "npm",
        ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--legacy-peer-deps", ...packages],
        {
          cwd: folder,
          stdio: ["ignore", "ignore", "inherit"],
        },
      );
    install([`${PACKAGE}@${version}`]);
    const modules = join(folder, "node_modules");
    const browser = join(modules, PACKAGE, "dist/browser");
    // The gateway does not serve the map. Without this comment browsers do not request it.
    const script = readFileSync(join(browser, "standalone.js"), "utf8").replace(
      /\n\/\/# sourceMappingURL=.*\s*$/,
      "\n",
    );
    const sha256 = createHash("sha256").update(script).digest("hex");
    const manifest: ReferenceManifest = { package: PACKAGE, version, sha256 };
    mkdirSync(REFERENCE, { recursive: true });
    writeFileSync(join(REFERENCE, "scalar.js.gz"), gzipSync(script, { level: 9 }));
    writeFileSync(join(REFERENCE, "manifest.json"), JSON.stringify(manifest, null, 2) + "\n");
    const map = JSON.parse(readFileSync(join(browser, "standalone.js.map"), "utf8"));
    // Packages in the script that today's versions no longer depend on.
    const gone = [...namesInside(map)].filter(([name]) => !existsSync(join(modules, name)));
    if (gone.length > 0) install(gone.map(([name, version]) => `${name}@${version}`));
    const parts = partsInside(modules, map);
    const texts: string[] = [];
    const notices: ReferenceNotices = { parts: noticesOf(parts, texts), texts };
    for (const part of notices.parts.filter(({ texts }) => texts.length === 0)) {
      part.texts.push(textOfKin(part, notices, modules));
    }
    writeFileSync(join(REFERENCE, "notices.json"), JSON.stringify(notices, null, 2) + "\n");
    process.stdout.write(`${PACKAGE} ${version}: ${parts.length} parts\n`);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The license of a part without one: that of another part from the same repository, else the text of MIT. */
function textOfKin(part: Notice, { parts, texts }: ReferenceNotices, modules: string): number {
  const repositoryOf = ({ name }: Notice) =>
    JSON.parse(readFileSync(join(modules, name, "package.json"), "utf8")).repository?.url;
  const kin = parts.find((other) => other.texts.length > 0 && repositoryOf(other) === repositoryOf(part));
  if (kin !== undefined) return kin.texts[0]!;
  if (part.license !== "MIT") throw new Error(`${part.name} comes without its license, ${part.license}`);
  const mit = texts.find((text) => text.startsWith("MIT License") && text.includes("without restriction"))!;
  const where = repositoryOf(part)?.replace(/^git\+/, "") ?? `https://www.npmjs.com/package/${part.name}`;
  return texts.push(mit.replace(/^copyright.*$/im, `Copyright (c) the authors of ${part.name}, ${where}`)) - 1;
}

if (import.meta.main) renewReference();

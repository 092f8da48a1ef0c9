import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Notice, Notices } from "../cli/notices.ts";

/** A part with its folder. */
export interface Found {
  name: string;
  version: string;
  license: string;
  folder: string;
}

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const IS_NOTICE = /^(licen[sc]e|copying|notice|unlicense)/i;

/** The packages that the program imports, with their dependencies, by name and version. */
export function packagesInside(): Found[] {
  const found = new Map<string, Found>();
  const visit = (name: string, from: string) => {
    const folder = folderOf(name, from);
    const { version, license, dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (found.has(`${name}@${version}`)) return;
    found.set(`${name}@${version}`, { name, version, license, folder });
    for (const needed of Object.keys(dependencies ?? {})) visit(needed, folder);
  };
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const name of Object.keys(dependencies)) visit(name, ROOT);
  return sorted([...found.values()]);
}

/** The folder of a package that a module in `from` imports: there, or further up. */
function folderOf(name: string, from: string): string {
  for (let at = from;; at = dirname(at)) {
    const folder = join(at, "node_modules", name);
    if (existsSync(folder)) return folder;
    if (at === dirname(at)) throw new Error(`${name}, needed by ${from}, is not installed: npm run setup`);
  }
}

interface Metadata {
  packages: {
    id: string;
    name: string;
    version: string;
    license: string;
    manifest_path: string;
    source: string | null;
    targets: { kind: string[] }[];
  }[];
  resolve: { nodes: { id: string; deps: { pkg: string; dep_kinds: { kind: string | null }[] }[] }[] };
  workspace_members: string[];
}

const RUST = [
  ["engine/protocol_27", "wasm32-unknown-unknown"],
  ["engine/protocol_28", "wasm32-unknown-unknown"],
  ["contracts", "wasm32v1-none"],
] as const;

/** The crates in the wasm files. `cargo` fetches their sources, which hold the texts of their licenses. */
function cratesInside(): Found[] {
  const found = new Map<string, Found>();
  for (const [folder, target] of RUST) {
    const args = ["metadata", "--locked", "--format-version", "1", "--filter-platform", target];
    const { packages, resolve, workspace_members }: Metadata = JSON.parse(
      execFileSync("cargo", args, { cwd: join(ROOT, "lib/sandbox", folder), encoding: "utf8", maxBuffer: 1e9 }),
    );
    const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
    // Macros run at compile time and are not in the engine.
    const macros = new Set(
      packages.filter(({ targets }) => targets[0]!.kind.includes("proc-macro")).map(({ id }) => id),
    );
    const seen = new Set<string>();
    const visit = (id: string) => {
      if (seen.has(id) || macros.has(id)) return;
      seen.add(id);
      for (const { pkg, dep_kinds } of nodes.get(id)!.deps) if (dep_kinds.some(({ kind }) => kind === null)) visit(pkg);
    };
    workspace_members.forEach(visit);
    for (const { id, name, version, license, manifest_path, source } of packages) {
      // A crate without a source is of this project, or it is the patched host.
      const isOurs = source === null && !manifest_path.includes("/target/");
      if (!seen.has(id) || isOurs) continue;
      found.set(`${name}@${version}`, {
        name,
        version,
        license: license.replaceAll("/", " OR "),
        folder: dirname(manifest_path),
      });
    }
  }
  return sorted([...found.values()]);
}

export function sorted(found: Found[]): Found[] {
  return found.sort((a, b) => `${a.name}@${a.version}` < `${b.name}@${b.version}` ? -1 : 1);
}

export function noticesOf(found: Found[], texts: string[]): Notice[] {
  return found.map(({ name, version, license, folder }) => {
    const own = textsIn(folder);
    // Crates of a workspace may leave the text in its root. Its text equals the one of this project.
    if (own.length === 0 && license.includes("Apache-2.0")) {
      own.push(readFileSync(join(ROOT, "LICENSE"), "utf8").trim());
    }
    return { name, version, license, texts: indexesOf(own, texts) };
  });
}

/** The indexes of these texts among all texts. Adds new ones. */
function indexesOf(own: string[], texts: string[]): number[] {
  const indexes = own.map((text) => {
    const index = texts.findIndex((other) => plain(other) === plain(text));
    return index === -1 ? texts.push(text) - 1 : index;
  });
  return [...new Set(indexes)];
}

/** The parts of the API reference's script, as `./compile.sh reference` found them. */
function referenceNotices(texts: string[]): Notice[] {
  const { parts, texts: own }: { parts: Notice[]; texts: string[] } = JSON.parse(
    readFileSync(join(ROOT, "lib/http/pages/reference/notices.json"), "utf8"),
  );
  return parts.map((part) => ({ ...part, texts: indexesOf(part.texts.map((index) => own[index]!), texts) }));
}

/** The license files of a folder, else the section on the license in its read-me file. */
function textsIn(folder: string): string[] {
  const read = (file: string) => readFileSync(join(folder, file), "utf8").replace(/\r\n/g, "\n").trim();
  const files = readdirSync(folder).sort();
  const found = files.filter((file) => IS_NOTICE.test(file) && !/\.(js|ts|rs)$/.test(file)).map(read);
  if (found.length > 0) return found;
  const sections = files.filter((file) => /^readme/i.test(file)).map(read)
    .map((text) =>
      /\n(?:#+ *)?licen[sc]e[^\n]*\n([^]*?copyright[^]*)$/i.exec(text)?.[1]?.replace(/^[-=]*\n/, "").trim()
    );
  return sections.filter((text) => text !== undefined);
}

/** The text without its layout, to compare licenses. */
function plain(text: string): string {
  return text.replace(/[\s*#-]+/g, " ").toLowerCase();
}

if (import.meta.main) {
  const texts: string[] = [];
  const notices: Notices = {
    packages: noticesOf(packagesInside(), texts),
    reference: referenceNotices(texts),
    crates: noticesOf(cratesInside(), texts),
    texts,
  };
  writeFileSync(join(ROOT, "cli/notices.json"), JSON.stringify(notices, null, 2) + "\n");
  process.stdout.write(
    `${notices.packages.length} packages, ${notices.reference.length} in the reference, ${notices.crates.length} crates, ${texts.length} texts\n`,
  );
}

// needs: once
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, matchesGlob, relative } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { BOUNDS } from "../lib/store/bounds.ts";
import { importsOf, needsOf } from "./run/needs.ts";

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

interface Source {
  /** Relative to the root, with slashes. */
  path: string;
  text: string;
  /** What it imports from the project, relative to the root. */
  imports: string[];
}

function sources(folder: string): Source[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === "target" ? [] : sources(path);
    return entry.name.endsWith(".ts") ? [read(path)] : [];
  });
}

function read(path: string): Source {
  const text = readFileSync(join(ROOT, path), "utf8");
  return {
    path,
    text,
    imports: importsOf(text).map((to) => relative(ROOT, join(ROOT, dirname(path), to)).replaceAll("\\", "/")),
  };
}

const ALL = [...sources("lib"), ...sources("cli"), ...sources("compile"), read("main.ts")];

/** What lies at the top, beside the configuration. */
const AT_THE_TOP = [
  ".ci",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  "SECURITY.md",
  "LICENSE",
  "README.md",
  "cli",
  "compile",
  "compile.sh",
  "docs",
  "lib",
  "main.ts",
  "tests",
];
const CONFIGURATION = [".gitignore", "bun.lock", "bunfig.toml", "deno.json", "deno.lock", "package.json"];

/** What of a folder belongs to the project: what git knows of, or where there is no git, what it is not told to ignore. */
function belongingTo(folder: string): string[] {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z", "."], { cwd: join(ROOT, folder), encoding: "utf8" });
  const known = status === 0 ? stdout.split("\0").filter((path) => path !== "") : [];
  if (known.length > 0) return [...new Set(known.map((path) => path.split("/")[0]!))].sort();
  const ignored = readFileSync(join(ROOT, ".gitignore"), "utf8").split("\n").map((line) => line.replace(/\/$/, ""));
  return readdirSync(join(ROOT, folder))
    .filter((name) => ![".git", ...ignored].some((pattern) => matchesGlob(name, pattern))).sort();
}

/** The room of a file: `lib/http/routes/x.ts` → `http`, `lib/clock.ts` → `clock`, `cli/x.ts` → `cli`. */
function room(path: string): string {
  if (path.startsWith("compile/")) return "compile";
  if (!path.startsWith("lib/")) return "cli";
  const [, first, more] = path.split("/");
  return more === undefined ? first!.replace(/\.ts$/, "") : first!;
}

/** What everybody may import. */
const OPEN_TO_ALL = [
  "bounded_map",
  "clock",
  "decoded_text",
  "errors",
  "log",
  "loop",
  "nearest",
  "percent_encoding",
  "random",
  "retry_schedule",
  "runtime",
  "ledger_numbers",
  "version",
  "visible_text",
];

/** Which rooms each room may import from, beside itself. */
const MAY_IMPORT: Record<string, string[]> = {
  // The commands wire parts together, and some (`doctor`, `verify`) need one part alone.
  cli: [
    "gateway",
    "config",
    "http",
    "keys",
    "limits",
    "escrow",
    "events",
    "webhooks",
    "client",
    "stellar",
    "store",
    "sandbox",
  ],
  // The type of what `version --licenses` prints, which is made here.
  compile: ["cli"],
  gateway: ["config", "metrics", "http", "keys", "limits", "escrow", "events", "webhooks", "stellar", "store"],
  http: ["metrics", "keys", "limits", "escrow", "events", "webhooks", "store"],
  keys: ["store"],
  limits: ["store"],
  escrow: ["stellar", "store"],
  events: ["stellar", "store"],
  webhooks: ["stellar", "store"],
  metrics: [],
  client: [],
  stellar: [],
  store: [],
  sandbox: [],
  runtime: [],
  config: [],
  // What all may use knows nobody else.
  bounded_map: [],
  clock: [],
  decoded_text: [],
  errors: [],
  log: [],
  loop: [],
  nearest: [],
  percent_encoding: [],
  random: [],
  retry_schedule: [],
  visible_text: [],
  ledger_numbers: [],
  version: [],
};

test("each room imports only from the rooms in its list", () => {
  const wrong = ALL.flatMap(({ path, imports }) =>
    imports.filter((to) => {
      const [from, into] = [room(path), room(to)];
      return from !== into && !OPEN_TO_ALL.includes(into) && !MAY_IMPORT[from]?.includes(into);
    }).map((to) => `${path} imports ${to}`)
  );
  assert.deepEqual(wrong, []);
});

test("the list of allowed imports has no circle", () => {
  assert.deepEqual(circlesOf(new Map(Object.entries(MAY_IMPORT))), []);
});

test("no files import one another in a circle, types included", () => {
  const circles = circlesOf(new Map(ALL.map(({ path, imports }) => [path, imports])));
  assert.deepEqual(circles, []);
});

/** Groups of nodes that all reach one another (Tarjan's strongly connected components). */
function circlesOf(arrows: Map<string, string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  const visit = (from: string): void => {
    low.set(from, index.size);
    index.set(from, index.size);
    stack.push(from);
    for (const to of arrows.get(from)!) {
      if (!arrows.has(to)) continue;
      if (!index.has(to)) visit(to);
      if (stack.includes(to)) low.set(from, Math.min(low.get(from)!, low.get(to)!));
    }
    if (low.get(from) !== index.get(from)) return;
    const circle = stack.splice(stack.indexOf(from));
    if (circle.length > 1) circles.push(circle.sort());
  };
  for (const from of arrows.keys()) if (!index.has(from)) visit(from);
  return circles;
}

/** The target size of each room in lines, comments included: a goal, not a rule. */
const BUDGETS: [rooms: string[], lines: number][] = [
  [["store"], 8_000],
  [["sandbox"], 7_000],
  [["cli"], 4_800],
  [["escrow"], 3_600],
  [["http"], 3_100],
  [["webhooks"], 3_000],
  [["stellar"], 2_600],
  [["events"], 1_900],
  [["client"], 1_500],
  [["keys", "limits"], 1_300],
  [["runtime", "metrics"], 1_150],
  [["gateway"], 1_100],
];

test("every line is in a room, or at the top", () => {
  // Generated files do not count.
  const written = ALL.filter(({ path }) => !path.endsWith("api_types.ts"));
  const linesOf = (isCounted: (room: string) => boolean) =>
    written.filter(({ path }) => isCounted(room(path))).reduce(
      (lines, { text }) => lines + text.split("\n").length - 1,
      0,
    );
  const inRooms = BUDGETS.flatMap(([rooms]) => rooms);
  const top = ["the top, compile", linesOf((name) => !inRooms.includes(name)), 950] as const;
  const rows = BUDGETS.map(([rooms, budget]) =>
    [rooms.join(", "), linesOf((name) => rooms.includes(name)), budget] as const
  );
  const all = [...rows, top];
  console.log("lines of each room, and what it should come down to:");
  for (const [name, lines, budget] of all) {
    console.log(`${String(lines).padStart(7)} ${String(budget).padStart(6)}  ${name}`);
  }
  assert.equal(all.reduce((sum, [, lines]) => sum + lines, 0), linesOf(() => true));
});

test("only lib/runtime uses the APIs of Deno or Bun", () => {
  const wrong = ALL
    .filter(({ path }) => !path.startsWith("lib/runtime/"))
    .filter(({ text }) => /\b(Deno|Bun)\.|from "bun:/.test(text.replace(/^\s*(\/\/|\*|\/\*).*$/gm, "")))
    .map(({ path }) => path);
  assert.deepEqual(wrong, []);
});

test("only cli reads argv and prints", () => {
  const wrong = ALL
    .filter(({ path }) => path.startsWith("lib/") && !path.startsWith("lib/runtime/"))
    .filter(({ text }) => /\bconsole\.|process\.(argv|stdout|stderr|exit)/.test(text))
    .map(({ path }) => path);
  assert.deepEqual(wrong, []);
});

test("the top folder contains only the files and folders in this list", () => {
  assert.deepEqual(belongingTo("."), [...AT_THE_TOP, ...CONFIGURATION].sort());
});

test("lib/ contains only the rooms, the files that every room may use, and the settings", () => {
  const rooms = Object.keys(MAY_IMPORT).filter((name) => !["cli", "compile"].includes(name));
  const files = [...OPEN_TO_ALL, "config"].filter((name) => name !== "runtime");
  assert.deepEqual(
    belongingTo("lib"),
    rooms.map((name) => files.includes(name) ? `${name}.ts` : name).sort(),
  );
});

/** The folders in lib/store that are no driver. */
const NO_DRIVERS = ["copy", "file", "sql"];
/** What every driver has a file for, beside one for each noun of the interface. */
const IN_EVERY_DRIVER = ["attempts", "database", "errors", "event_query", "open", "retention", "schema", "settling"];

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The drivers that share the nouns of lib/store/sql. */
const SQL_DRIVERS = ["postgres", "sqlite"];

test("each store driver has one file per noun of the interface, or the SQL drivers share it", () => {
  const files = ALL.map(({ path }) => path).filter((path) => path.startsWith("lib/store/"));
  const folders = new Set(
    files.map((path) => path.split("/")).filter(({ length }) => length > 3).map((path) => path[2]!),
  );
  const drivers = [...folders].filter((folder) => !NO_DRIVERS.includes(folder));
  assert.ok(drivers.length >= 3, drivers.join(", "));
  const missing = drivers.flatMap((driver) =>
    [...Object.keys(BOUNDS).map(snakeCase), ...IN_EVERY_DRIVER]
      .map((name) =>
        [driver, ...(SQL_DRIVERS.includes(driver) ? ["sql"] : [])].map((at) => `lib/store/${at}/${name}.ts`)
      )
  ).filter((paths) => !paths.some((path) => files.includes(path))).map(([path]) => path);
  assert.deepEqual(missing, []);
});

test("file names are snake_case", () => {
  assert.deepEqual(ALL.map(({ path }) => path).filter((path) => !/^[a-z0-9_/]+\.ts$/.test(path)), []);
});

test("main.ts has no default export, because Bun would start it as a server", () => {
  assert.doesNotMatch(read("main.ts").text, /export default/);
});

const TESTS = sources("tests");

test("each test file declares in its first line what it needs", () => {
  const silent = TESTS.filter(({ path, text }) => path.endsWith("_test.ts") && needsOf(text) === undefined);
  assert.deepEqual(silent.map(({ path }) => path), []);
});

/** What differs by runtime: servers, processes, and what lies in lib/runtime but for reading wasm and the runtime's name. */
const DIFFERS = /"node:(child_process|https?|http2|net|tls)"|lib\/runtime\/(?!wasm_files|runtime\.ts)/;

test("a test file marked neutral imports no module that differs by runtime", () => {
  const byPath = new Map(TESTS.map((source) => [source.path, source]));
  const differs = ({ text, imports }: Source, seen = new Set<string>()): boolean =>
    DIFFERS.test(text) || imports.some((path) => {
      const imported = byPath.get(path);
      if (imported === undefined || seen.has(path)) return false;
      return differs(imported, seen.add(path));
    });
  const wrong = TESTS.filter((source) => needsOf(source.text)?.on === "neutral" && differs(source));
  assert.deepEqual(wrong.map(({ path }) => path), []);
});

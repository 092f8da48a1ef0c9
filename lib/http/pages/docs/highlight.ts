/** How a language writes each kind of code, as sources of regular expressions. Each kind is a class of `docs.css`. */
interface Grammar extends Partial<Record<"comment" | "string" | "number", string>> {
  /** With a blank between them. */
  keywords?: string;
  /** Other text that is shown as a keyword: the keys of YAML. */
  keys?: string;
  ignoresCase?: boolean;
}

const DOUBLE_QUOTED = String.raw`"(?:\\.|[^"\\\n])*"`;
const SINGLE_QUOTED = String.raw`'(?:\\.|[^'\\\n])*'`;
const SLASHES = String.raw`//.*|/\*[\s\S]*?\*/`;
/** A `#` begins a comment only at the start of a word. */
const HASH = String.raw`(?<!\S)#.*`;
const NUMBER = String.raw`\b\d[\w.]*`;

const TYPESCRIPT: Grammar = {
  comment: SLASHES,
  string: `${DOUBLE_QUOTED}|${SINGLE_QUOTED}|${String.raw`\x60(?:\\.|\$\{[^}]*\}|[^\x60\\])*\x60`}`,
  number: NUMBER,
  keywords: "as async await break case catch class const continue default delete do else enum export extends false " +
    "finally for from function if import in instanceof interface let new null of return static super switch this " +
    "throw true try type typeof undefined var void while yield",
};

const PYTHON: Grammar = {
  comment: "#.*",
  string: String.raw`[rbfRBF]{0,2}(?:"""[\s\S]*?"""|'''[\s\S]*?'''|${DOUBLE_QUOTED}|${SINGLE_QUOTED})`,
  number: NUMBER,
  keywords:
    "and as assert async await break class continue def del elif else except False finally for from global if " +
    "import in is lambda None nonlocal not or pass raise return True try while with yield",
};

const GO: Grammar = {
  comment: SLASHES,
  string: String.raw`${DOUBLE_QUOTED}|'(?:\\.|[^'\\\n])+'|\x60[^\x60]*\x60`,
  number: NUMBER,
  keywords:
    "break case chan const continue default defer else fallthrough false for func go goto if import interface " +
    "map nil package range return select struct switch true type var",
};

const JAVA: Grammar = {
  comment: SLASHES,
  string: String.raw`"""[\s\S]*?"""|${DOUBLE_QUOTED}|${SINGLE_QUOTED}`,
  number: NUMBER,
  keywords:
    "abstract boolean break byte case catch char class continue default do double else enum extends false final " +
    "finally float for if implements import instanceof int interface long new null package private protected public " +
    "record return short static super switch this throw throws true try var void while",
};

const SHELL: Grammar = {
  comment: HASH,
  string: String.raw`"(?:\\.|\$\([^)]*\)|[^"\\])*"|'[^']*'`,
  // In a command a number is a whole word: not a part of a UID, a date or an address.
  number: String.raw`(?<=[\s=])\d+(?=[\s;)]|$)`,
  keywords: "case do done elif else esac export fi for function if in local return then until while",
};

const SQL: Grammar = {
  comment: "--.*",
  string: SINGLE_QUOTED,
  number: NUMBER,
  keywords:
    "alter and as asc by create database default delete desc drop from grant group in index insert into is join " +
    "limit not null on or order owner role schema select set table to update user values where with",
  ignoresCase: true,
};

const YAML: Grammar = {
  comment: HASH,
  string: `${DOUBLE_QUOTED}|'(?:''|[^'])*'`,
  number: String.raw`(?<=[\s:\[,-])\d[\w.]*(?=[\s,\]]|$)`,
  keywords: "true false null",
  keys: String.raw`(?<=^\s*(?:- )*)[\w./-]+(?=:(?:\s|$))`,
};

const TOML: Grammar = {
  comment: HASH,
  string: String.raw`"""[\s\S]*?"""|'''[\s\S]*?'''|${DOUBLE_QUOTED}|'[^'\n]*'`,
  number: NUMBER,
  keywords: "true false",
  keys: String.raw`(?<=^\s*)(?:\[\[?[^\]\n]+\]\]?|[\w.-]+(?=\s*=))`,
};

const GRAMMARS: Record<string, Grammar> = {
  json: { string: DOUBLE_QUOTED, number: NUMBER, keywords: "true false null" },
  ...{ go: GO, java: JAVA, py: PYTHON, python: PYTHON, sh: SHELL, sql: SQL, toml: TOML, yaml: YAML },
  ...{ ts: TYPESCRIPT, typescript: TYPESCRIPT, js: TYPESCRIPT, mjs: TYPESCRIPT, javascript: TYPESCRIPT },
};

/**
 * Code as HTML, each comment, string, keyword and number in a `<span>` of its class. The text itself stays as it is.
 *
 * @param language first word of the fence; one without a grammar gets no spans
 * @param toHtml escapes a piece of text
 */
export function highlighted(code: string, language: string, toHtml: (text: string) => string): string {
  const grammar = GRAMMARS[language];
  if (grammar === undefined) return toHtml(code);
  const { comment, string, number, keys, keywords = "", ignoresCase } = grammar;
  const known = new Set(keywords.split(" "));
  const groups = { comment, string, keyword: keys, number, word: String.raw`\.?[\p{L}_$][\w$]*` };
  const source = Object.entries(groups).filter(([, one]) => one !== undefined).map(([name, one]) =>
    `(?<${name}>${one})`
  );
  let html = "";
  let end = 0;
  for (const { 0: text, index, groups: found } of code.matchAll(new RegExp(source.join("|"), "gmu"))) {
    const { word, ...kinds } = found!;
    const isKeyword = word !== undefined && known.has(ignoresCase ? word.toLowerCase() : word);
    const kind = isKeyword ? "keyword" : Object.keys(kinds).find((name) => kinds[name] !== undefined);
    if (kind === undefined) continue;
    html += `${toHtml(code.slice(end, index))}<span class="code-${kind}">${toHtml(text)}</span>`;
    end = index + text.length;
  }
  return html + toHtml(code.slice(end));
}

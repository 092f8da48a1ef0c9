import { readFileSync } from "node:fs";
import type { QuintEx, QuintOpDef } from "@informalsystems/quint";
import { analyzeModules, fileSourceResolver, newIdGenerator, parse, quintErrorToString } from "@informalsystems/quint";

/** A value of Quint: whole numbers, texts, truth values; records; sets, lists and maps as arrays in a fixed order. */
// deno-lint-ignore no-explicit-any
export type Value = any;
export type State = Record<string, Value>;

/** A model that can be run: what it may begin with, and every state that may follow one. */
export interface Model {
  init(): State[];
  next(state: State): State[];
  /** The value of a definition without parameters in this state: an invariant, most often. */
  value(name: string, state: State): Value;
}

/**
 * Reads a module of a Quint specification and makes functions of it. Quint's simulator picks one step at random; here each
 * choice of `any` and `oneOf` is followed, so that all states within a bound can be looked at. Understands what the models
 * here use of the language; anything else is an error that names it.
 *
 * @param constants what the module leaves open as `const`
 */
export function readModel(path: string, moduleName: string, constants: Record<string, string | number>): Model {
  const resolver = fileSourceResolver();
  const ids = newIdGenerator();
  const parsed = parse(ids, path, resolver.lookupPath(path, path), readFileSync(path, "utf8"));
  const problems = parsed.errors.length > 0 ? parsed.errors : analyzeModules(parsed.table, parsed.modules)[0];
  if (problems.length > 0) throw new Error(`${path}: ${problems.map(quintErrorToString).join("\n")}`);
  const found = parsed.modules.find(({ name }) => name === moduleName);
  if (found === undefined) throw new Error(`${path} has no module ${moduleName}`);
  const writer = createWriter();
  for (const declaration of found.declarations) {
    if (declaration.kind === "var") writer.variable(declaration.name);
    if (declaration.kind === "const") writer.constant(declaration.name, constants[declaration.name]!);
    if (declaration.kind === "def") writer.define(declaration);
  }
  return new Function("core", writer.source())(core);
}

/** Writes JavaScript: an action becomes a function that hands each of its outcomes to `k`, anything else an expression. */
function createWriter() {
  const variables = new Set<string>();
  const actions = new Set<string>();
  const defined = new Map<string, number>();
  const lines: string[] = [];
  const id = (name: string) => `_${name.replace(/\W/g, "$")}`;
  let outcomes = 0;
  const fresh = () => `m${++outcomes}`;

  function expression(ex: QuintEx): string {
    switch (ex.kind) {
      case "bool":
      case "int":
        return String(ex.value);
      case "str":
        return JSON.stringify(ex.value);
      case "name":
        if (ex.name === "Int" || ex.name === "Nat") throw new Error(`${ex.name} has no end`);
        if (ex.name === "Bool") return "[false, true]";
        if (variables.has(ex.name)) return `s.${ex.name}`;
        return defined.get(ex.name) === 0 ? `${id(ex.name)}(s)` : id(ex.name);
      case "lambda":
        return `((${ex.params.map(({ name }) => id(name)).join(", ")}) => ${expression(ex.expr)})`;
      case "let":
        return `((${id(ex.opdef.name)}) => ${expression(ex.expr)})(${expression(ex.opdef.expr)})`;
      case "app":
        return application(ex.opcode, ex.args);
    }
  }

  /** Fields in order, so that equal records look alike. */
  function record(args: QuintEx[]): string {
    const fields: string[] = [];
    for (let at = 0; at < args.length; at += 2) {
      fields.push(`${(args[at] as { value: string }).value}: ${expression(args[at + 1]!)}`);
    }
    return `({ ${fields.sort().join(", ")} })`;
  }

  function application(opcode: string, args: QuintEx[]): string {
    const [a, b] = args.map((arg) => () => expression(arg));
    const all = () => args.map(expression).join(", ");
    const infix: Record<string, string> = {
      iadd: "+",
      isub: "-",
      imul: "*",
      ilt: "<",
      ilte: "<=",
      igt: ">",
      igte: ">=",
    };
    if (opcode in infix) return `(${a!()} ${infix[opcode]} ${b!()})`;
    switch (opcode) {
      case "and":
      case "or":
        return `(${args.map(expression).join(opcode === "and" ? " && " : " || ")})`;
      case "iuminus":
        return `(-${a!()})`;
      case "not":
        return `!${a!()}`;
      case "implies":
        return `(!${a!()} || ${b!()})`;
      case "ite":
        return `(${a!()} ? ${b!()} : ${expression(args[2]!)})`;
      case "idiv":
        return `Math.floor(${a!()} / ${b!()})`;
      case "Rec":
        return record(args);
      case "field":
        return `${a!()}.${(args[1] as { value: string }).value}`;
      case "with":
        return `({ ...${a!()}, ${(args[1] as { value: string }).value}: ${expression(args[2]!)} })`;
      case "List":
      case "Tup":
        return `[${all()}]`;
      case "Set":
        return `core.toSet([${all()}])`;
    }
    if (defined.has(opcode)) return `${id(opcode)}(${["s", ...args.map(expression)].join(", ")})`;
    if (opcode in core) return `core.${opcode}(${all()})`;
    return `${id(opcode)}(${all()})`;
  }

  function call(action: string, args: QuintEx[], k: (n: string) => string, n: string): string {
    const m = fresh();
    return `${id(action)}(${["s", n, `(${m}) => { ${k(m)} }`, ...args.map(expression)].join(", ")});`;
  }

  /** Statements that call `k` with each outcome `n`, the variables that are set so far. */
  function action(ex: QuintEx, k: (n: string) => string, n: string): string {
    if (ex.kind === "let") {
      const { name, qualifier, expr } = ex.opdef;
      if (qualifier !== "nondet") return `{ const ${id(name)} = ${expression(expr)}; ${action(ex.expr, k, n)} }`;
      const of = (expr as { args: QuintEx[] }).args[0]!;
      return `for (const ${id(name)} of ${expression(of)}) { ${action(ex.expr, k, n)} }`;
    }
    if (ex.kind === "name" && actions.has(ex.name)) return call(ex.name, [], k, n);
    if (ex.kind !== "app") return `if (${expression(ex)}) { ${k(n)} }`;
    const { opcode, args } = ex;
    if (opcode === "actionAny") return args.map((arg) => action(arg, k, n)).join("\n");
    if (opcode === "actionAll") {
      const [first, ...rest] = args;
      if (first === undefined) return k(n);
      return action(first, (m) => action({ ...ex, args: rest }, k, m), n);
    }
    if (opcode === "assign") {
      const name = (args[0] as { name: string }).name;
      const m = fresh();
      return `{ const ${m} = { ...${n}, ${name}: ${expression(args[1]!)} }; ${k(m)} }`;
    }
    if (opcode === "ite") {
      const [condition, yes, no] = args;
      return `if (${expression(condition!)}) { ${action(yes!, k, n)} } else { ${action(no!, k, n)} }`;
    }
    if (actions.has(opcode)) return call(opcode, args, k, n);
    return `if (${expression(ex)}) { ${k(n)} }`;
  }

  return {
    variable: (name: string) => void variables.add(name),
    constant(name: string, value: string | number) {
      if (value === undefined) throw new Error(`the constant ${name} has no value`);
      lines.push(`const ${id(name)} = ${JSON.stringify(value)};`);
    },
    define({ name, qualifier, expr }: QuintOpDef) {
      if (qualifier === "run" || qualifier === "temporal") return;
      const params = expr.kind === "lambda" ? expr.params.map(({ name }) => id(name)) : [];
      const body = expr.kind === "lambda" ? expr.expr : expr;
      if (qualifier === "action") {
        actions.add(name);
        lines.push(
          `const ${id(name)} = (${["s", "n", "k", ...params].join(", ")}) => { ${
            action(body, (m) => `k(${m});`, "n")
          } };`,
        );
      } else {
        defined.set(name, params.length);
        if (qualifier === "pureval") {
          lines.push(`const ${id(name)}_value = ${expression(body)}; const ${id(name)} = () => ${id(name)}_value;`);
          return;
        }
        lines.push(`const ${id(name)} = (${["s", ...params].join(", ")}) => ${expression(body)};`);
      }
    },
    source() {
      const values = [...defined].filter(([, arity]) => arity === 0).map(([name]) => `${name}: ${id(name)}`).join(", ");
      return `"use strict"; const s = undefined; ${lines.join("\n")}
        const values = { ${values} };
        const all = (act, s) => { const found = []; act(s, {}, (n) => found.push(n)); return found; };
        return { init: () => all(_init, {}), next: (s) => all(_step, s), value: (name, s) => values[name](s) };`;
    },
  };
}

const order = (a: Value, b: Value) =>
  typeof a === "number" && typeof b === "number" ? a - b : JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
const same = (a: Value, b: Value): boolean =>
  a === b || (typeof a === "object" && JSON.stringify(a) === JSON.stringify(b));

/** Quint's own operators. A set is an array in order, a map an array of pairs. */
const core = {
  toSet: (items: Value[]) => [...items].sort(order).filter((item, at, all) => at === 0 || !same(item, all[at - 1])),
  eq: same,
  neq: (a: Value, b: Value) => !same(a, b),
  to: (first: number, last: number) => Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => first + at),
  contains: (set: Value[], item: Value) => set.some((one) => same(one, item)),
  in: (item: Value, set: Value[]) => set.some((one) => same(one, item)),
  union: (a: Value[], b: Value[]) => core.toSet([...a, ...b]),
  exclude: (a: Value[], b: Value[]) => a.filter((item) => !core.contains(b, item)),
  subseteq: (a: Value[], b: Value[]) => a.every((item) => core.contains(b, item)),
  filter: (set: Value[], test: (item: Value) => boolean) => set.filter(test),
  map: (set: Value[], of: (item: Value) => Value) => core.toSet(set.map(of)),
  exists: (set: Value[], test: (item: Value) => boolean) => set.some(test),
  forall: (set: Value[], test: (item: Value) => boolean) => set.every(test),
  size: (set: Value[]) => set.length,
  fold: (set: Value[], from: Value, step: (sum: Value, item: Value) => Value) => set.reduce(step, from),
  foldl: (list: Value[], from: Value, step: (sum: Value, item: Value) => Value) => list.reduce(step, from),
  tail: (list: Value[]) => list.slice(1),
  select: (list: Value[], test: (item: Value) => boolean) => list.filter(test),
  append: (list: Value[], item: Value) => [...list, item],
  length: (list: Value[]) => list.length,
  nth: (list: Value[], at: number) => list[at],
  mapBy: (keys: Value[], of: (key: Value) => Value) => keys.map((key) => [key, of(key)]),
  keys: (map: Value[]) => map.map(([key]) => key),
  get: (map: Value[], key: Value) => map.find(([one]) => same(one, key))![1],
  set: (map: Value[], key: Value, value: Value) => map.map((pair) => same(pair[0], key) ? [key, value] : pair),
  setBy: (map: Value[], key: Value, of: (value: Value) => Value) =>
    map.map((pair) => same(pair[0], key) ? [key, of(pair[1])] : pair),
};

import { createRecentMap } from "../bounded_map.ts";
import { METHOD_NAME_ALL, type Result, type Router, UnsupportedPathError } from "hono/router";

/** One step of a path: its possible next steps, and the handlers of a path that ends here. */
interface Node<T> {
  fixed: { step: string; node: Node<T> }[];
  named: { name: string; node: Node<T> } | undefined;
  handlers: Map<string, T> | undefined;
}

const NOTHING: Result<never> = [[]];

const MAX_CACHED = 10_000;

/**
 * A router for Hono with exactly one handler for each request. Hono's own routers return all matching handlers, and Hono
 * creates promises for a chain of several. Here the handler for any method (`app.all`) only answers where the path has no
 * handler for this method. So a wrong method gets its response, and a cached read still costs no promise.
 *
 * A fixed step takes precedence over a name, without backtracking: `GET /v1/transactions/submit` is a wrong method and no
 * hash. The router caches a path only after `keep`. Wildcards, and so Hono's `app.use`, throw when they are added.
 */
export class PathRouter<T> implements Router<T> {
  readonly name = "PathRouter";
  readonly #root: Node<T> = newNode();
  readonly #kept = createRecentMap<Result<T>>(MAX_CACHED);

  add(method: string, path: string, handler: T): void {
    if (/[*?{]/.test(path) || !path.startsWith("/")) throw new UnsupportedPathError();
    let node = this.#root;
    for (const step of path.slice(1).split("/")) {
      node = step.startsWith(":") ? named(node, step.slice(1)) : fixed(node, step);
    }
    node.handlers ??= new Map();
    if (node.handlers.has(method)) throw new TypeError(`${method} ${path} already has a handler`);
    node.handlers.set(method, handler);
  }

  match(method: string, path: string): Result<T> {
    return (method === "GET" ? this.#kept.get(path) : undefined) ?? this.#find(method, path);
  }

  /** Caches the handler of a GET of this path. */
  keep(path: string): void {
    this.#kept.set(path, this.#find("GET", path));
  }

  #find(method: string, path: string): Result<T> {
    let node = this.#root;
    let params: Record<string, string> | undefined;
    for (let start = 1; start <= path.length;) {
      const slash = path.indexOf("/", start);
      const end = slash === -1 ? path.length : slash;
      const next = fixedStep(node, path, start, end);
      if (next !== undefined) node = next;
      else if (node.named !== undefined && end > start) {
        (params ??= {})[node.named.name] = path.slice(start, end);
        node = node.named.node;
      } else return NOTHING;
      start = end + 1;
    }
    const handler = node.handlers?.get(method) ?? node.handlers?.get(METHOD_NAME_ALL);
    return handler === undefined ? NOTHING : [[[handler, params ?? {}]]];
  }
}

function newNode<T>(): Node<T> {
  return { fixed: [], named: undefined, handlers: undefined };
}

function fixed<T>(node: Node<T>, step: string): Node<T> {
  let next = fixedStep(node, step, 0, step.length);
  if (next === undefined) node.fixed.push({ step, node: next = newNode() });
  return next;
}

/** Compares in place: cutting the path and hashing its pieces costs ten times as much. */
function fixedStep<T>(node: Node<T>, path: string, start: number, end: number): Node<T> | undefined {
  for (const { step, node: next } of node.fixed) {
    if (step.length === end - start && path.startsWith(step, start)) return next;
  }
  return undefined;
}

function named<T>(node: Node<T>, name: string): Node<T> {
  node.named ??= { name, node: newNode() };
  if (node.named.name !== name) throw new TypeError(`a path already has :${node.named.name} in place of :${name}`);
  return node.named.node;
}

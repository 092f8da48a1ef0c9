import { createRecentMap } from "../bounded_map.ts";
import { METHOD_NAME_ALL, type Result, type Router, UnsupportedPathError } from "hono/router";

/** Where one step of a path leads: what may follow it, and what answers when the path ends here. */
interface Node<T> {
  fixed: { step: string; node: Node<T> }[];
  named: { name: string; node: Node<T> } | undefined;
  handlers: Map<string, T> | undefined;
}

const NOTHING: Result<never> = [[]];

const MAX_KEPT = 10_000;

/**
 * Hono's router for a surface of fixed paths (`/v1/devices/:hash/policy`), every request of which has exactly one
 * handler. Hono's own routers answer all handlers that fit, and with more than one it makes promises of the whole chain:
 * here the handler for any method (`app.all`) stands back where the path has one for this method, so that the wrong
 * method has its answer and a read held in memory still costs no promise.
 *
 * A fixed step beats a name and is not gone back on, so that `GET /v1/transactions/submit` is a wrong method and no hash.
 * Nothing is kept of a path unless it is told to. Wildcards, and so Hono's `app.use`, do not fit: they throw
 * when they are added.
 */
export class PathRouter<T> implements Router<T> {
  readonly name = "PathRouter";
  readonly #root: Node<T> = newNode();
  readonly #kept = createRecentMap<Result<T>>(MAX_KEPT);

  add(method: string, path: string, handler: T): void {
    if (/[*?{]/.test(path) || !path.startsWith("/")) throw new UnsupportedPathError();
    let node = this.#root;
    for (const step of path.slice(1).split("/")) {
      node = step.startsWith(":") ? named(node, step.slice(1)) : fixed(node, step);
    }
    node.handlers ??= new Map();
    if (node.handlers.has(method)) throw new TypeError(`${method} ${path} has a handler already`);
    node.handlers.set(method, handler);
  }

  match(method: string, path: string): Result<T> {
    return (method === "GET" ? this.#kept.get(path) : undefined) ?? this.#find(method, path);
  }

  /** Keeps what answers a GET of this path, for one that is asked for again and again. */
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

/** Compares in place: a path is cut up, and its pieces hashed, at ten times the cost. */
function fixedStep<T>(node: Node<T>, path: string, start: number, end: number): Node<T> | undefined {
  for (const { step, node: next } of node.fixed) {
    if (step.length === end - start && path.startsWith(step, start)) return next;
  }
  return undefined;
}

function named<T>(node: Node<T>, name: string): Node<T> {
  node.named ??= { name, node: newNode() };
  if (node.named.name !== name) throw new TypeError(`:${name} stands where a path has :${node.named.name} already`);
  return node.named.node;
}

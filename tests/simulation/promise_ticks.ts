// How many turns of the microtask queue `finally` and `try` take is the engine's affair, and it differs between V8 and JSC.
// By that which of two that one step wakes goes on first would be the runtime's affair, too, and with it all that follows: so
// both take as many here as JSC takes.

Promise.prototype.finally = function <T>(this: Promise<T>, onEnd?: (() => unknown) | null): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    function end(settle: () => void): void {
      try {
        const result = onEnd?.();
        if (result instanceof Promise) result.then(settle, reject);
        else settle();
      } catch (error) {
        reject(error);
      }
    }
    this.then((value) => end(() => resolve(value)), (error) => end(() => reject(error)));
  });
};

Promise.try = function <T, A extends unknown[]>(work: (...args: A) => T | PromiseLike<T>, ...args: A) {
  try {
    return Promise.resolve(work(...args)) as Promise<Awaited<T>>;
  } catch (error) {
    return Promise.reject(error);
  }
};
